import { isKnownEnding } from './kinds.ts'

/** Files without an ending that everyone knows. */
const known = /^(?:makefile|dockerfile|gemfile|rakefile|procfile|license|readme|changelog|codeowners)$/i
/** Those that start with a dot; `.github` and its like are folders. */
const hidden =
  /^\.(?:git(?:ignore|attributes|modules|keep)|env(?:\..+)?|npm(?:rc|ignore)|nvmrc|node-version|editorconfig|dockerignore|(?:eslint|prettier|babel|stylelint)\w*(?:\..+)?|bash\w+|zsh\w+|profile|vimrc)$/
const withEnding = /[^.].*\.([a-z][a-z0-9]{0,9})$/i

/** Whether a path names a file by the look of it: `packages/x.y` is rather a folder, its ending being none that is known. */
export function looksLikeFile(path: string): boolean {
  if (/[/\\]$/.test(path)) return false
  const base = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  if (known.test(base) || hidden.test(base)) return true
  const ending = withEnding.exec(base)?.[1]
  return ending !== undefined && (base === path || isKnownEnding(ending.toLowerCase()))
}

/** Whether a word without a slash is the name of a file: `README.md`, `.gitignore`, `LICENSE`, but neither `.ts` nor `src.Which`. */
export function isFileName(word: string): boolean {
  if (hidden.test(word)) return true
  if (known.test(word)) return /^[A-Z]/.test(word)
  // Right behind a full stop without a space, a capital starts a sentence.
  return /^[\p{L}\p{N}_@$~+[\](){}.-]*[\p{L}\p{N}_$\])}]\.(?:[a-z][a-z0-9]{0,9}|[A-Z]{1,4})$/u.test(word) && !word.startsWith('.')
}
