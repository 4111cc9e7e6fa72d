"""The examples in the documents are true."""
