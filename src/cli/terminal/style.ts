/** A style of text on a terminal. The names are those of Node's `styleText`. */
export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold' | 'italic' | 'underline' | 'strikethrough'
