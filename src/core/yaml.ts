/**
 * The package `yaml`, to be imported dynamically. It is CommonJS: if it is imported dynamically itself, a bundle of esbuild has no named
 * exports of it.
 */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
