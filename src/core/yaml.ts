/**
 * The package `yaml`, to be imported dynamically. It is CommonJS. If it were itself imported dynamically, a bundle of esbuild would lack
 * its named exports.
 */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
