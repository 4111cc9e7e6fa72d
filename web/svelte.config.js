export default {
  compilerOptions: { runes: true },
  // What keeps somebody from using the page is a fault, not a warning.
  onwarn: (warning) => {
    throw new Error(`${warning.filename}: ${warning.message}`);
  },
};
