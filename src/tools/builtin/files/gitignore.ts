import ignore, { type Ignore } from 'ignore'

/**
 * Adds the rules of another ignore file to the rules in `above`. The added rules take precedence. `text` is the content of the added file.
 * `folder` is its folder, relative to the folder of the first ignore file: empty, or `a/b`.
 */
export function addRules(above: Ignore | undefined, folder: string, text: string): Ignore {
  const rules = ignore({ ignorecase: false })
  if (above !== undefined) rules.add(above)
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return rules.add(lines.filter((line) => line.length <= maxRuleLength).map((line) => ruleBelow(folder, line)))
}

/** Maximum length of a path. A rule that is longer can't match any path. */
const maxRuleLength = 4_096

/** Rewrites a rule of an ignore file in `folder` so that the rule means the same in the first ignore file. */
function ruleBelow(folder: string, line: string): string {
  if (folder === '' || line.startsWith('#')) return line
  const [, negation, rule = ''] = /^(!?)(.*)$/s.exec(line) ?? []
  // If nothing but slashes is left, the rule is empty. Prefixed with the folder, it would match the folder itself.
  if (/^\/* *$/.test(rule)) return ''
  const isAnchored = /\/(?! *$)/.test(rule)
  return `${negation}${folder.replace(/[\\*?[\]!# ]/g, '\\$&')}${isAnchored ? '/' : '/**/'}${rule.replace(/^\//, '')}`
}
