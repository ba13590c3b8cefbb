/** The names of the bundled dialects. The names are in a separate file, so that a name can be checked without loading a dialect. */
export const dialectNames: readonly string[] = [
  'tool-action',
  'hermes',
  'json',
  'qwen-coder',
  'glm',
  'mistral',
  'pythonic',
  'invoke',
  'salvage',
  'react',
]
