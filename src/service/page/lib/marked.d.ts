export { Lexer } from 'marked'
