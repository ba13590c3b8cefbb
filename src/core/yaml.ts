/**
 * The package `yaml`, to be imported dynamically. `yaml` is CommonJS. If it were imported dynamically without this file, a bundle of
 * esbuild would lack its named exports.
 */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
