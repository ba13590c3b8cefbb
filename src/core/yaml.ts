/**
 * The package `yaml`, to be imported dynamically. `yaml` is CommonJS. If it were imported dynamically without this file, its named exports
 * would be missing in a bundle that esbuild makes.
 */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
