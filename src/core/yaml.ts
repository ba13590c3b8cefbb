/** The package `yaml`, to be imported dynamically where YAML is read. It is CommonJS: imported so itself, it has no names in a bundle of esbuild. */
export { Composer, isAlias, isMap, isScalar, Lexer, Parser, parse, visit, YAMLError, YAMLParseError } from 'yaml'
