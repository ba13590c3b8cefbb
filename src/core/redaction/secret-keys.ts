const secretKey =
  /^(authorization|proxy-authorization|cookie|set-cookie|pass(word|wd|phrase)?|pwd|secret|client[-_]?secret|api[-_]?keys?|x-api-key|apikey|(access|auth|refresh|id|session|bearer|api|csrf)?[-_]?token|credentials?|private[-_]?key|secret[-_]?(access[-_]?)?key|connection[-_]?string)$/i
/** Endings that make a longer key the name of a secret: `OPENAI_API_KEY`, `dbPassword`, `github.token`, but not `maxTokens`. */
const secretEnding =
  /(^|[-_. ])(pass(word|wd|phrase)|secret|token|credentials?|(api|access|account|private|secret|signing|encryption)[-_]?keys?|connection[-_]?string)$/

/** A quick test that the key of every secret passes. It rejects most other keys early, because a text may have many keys. */
const mayBeSecret = /pass|pwd|secret|token|cookie|authorization|credential|key|connection/i

/** Known results. They are cached because a program uses the same few keys repeatedly. */
const knownKeys = new Map<string, boolean>()
const mostKnown = 1_000
const longestKnown = 100

/** Whether a key names a secret. */
export function isSecretKey(key: string): boolean {
  const known = knownKeys.get(key)
  if (known !== undefined) return known
  // Removes a trailing number, as in `OPENAI_API_KEY_2`.
  const name = key.replace(/[-_. ]?\d{1,3}$/, '')
  const isSecret =
    mayBeSecret.test(name) && (secretKey.test(name) || secretEnding.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()))
  if (knownKeys.size < mostKnown && key.length <= longestKnown) knownKeys.set(key, isSecret)
  return isSecret
}

/** Whether a text may contain a secret's key. A text without such a key needn't be searched. */
export function mayHaveSecretKey(text: string): boolean {
  return mayBeSecret.test(text)
}

/** Minimum length of a secret in the environment. Shorter values may be ordinary words. */
const shortestInEnvironment = 8

/** Returns the values of all secrets in the environment. In the environment, `PWD` is a folder, not a password. */
export function secretsInEnvironment(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    value.length >= shortestInEnvironment && name !== 'PWD' && isSecretKey(name) ? [value] : [],
  )
}
