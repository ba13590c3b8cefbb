/** A style of text on a terminal. The names are those of `styleText` of Node.js. */
export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold' | 'italic' | 'underline' | 'strikethrough'
