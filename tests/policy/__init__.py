"""The tests of what decides: values in, values out."""
