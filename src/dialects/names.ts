/** The names of the dialects that come with the package; apart from them, so that a name can be checked without loading any. */
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
