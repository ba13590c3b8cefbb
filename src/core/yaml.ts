/**
 * The package `yaml`, to be imported dynamically. `yaml` is CommonJS. In a bundle of esbuild, a direct dynamic import of `yaml` would have
 * no named exports.
 */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
