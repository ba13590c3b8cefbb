/** The style of a text on a terminal: names that `styleText` of Node.js knows. */
export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold' | 'italic' | 'underline' | 'strikethrough'
