// Made from package.json by `npm run generate`: change it there.
/** This package's version, such as `1.2.3`. */
export const version = '0.1.0'
