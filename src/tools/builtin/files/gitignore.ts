import ignore, { type Ignore } from 'ignore'

/**
 * Adds the rules of another ignore file, which take precedence over the rules in `above`. `text` is the content of the added file. `folder`
 * is the path from the folder of the first ignore file to the folder of the added file, such as `a/b`. An empty `folder` means the same
 * folder.
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
  // A rule that contains only slashes is empty. With the folder as prefix, it would match the folder itself.
  if (/^\/* *$/.test(rule)) return ''
  const isAnchored = /\/(?! *$)/.test(rule)
  return `${negation}${folder.replace(/[\\*?[\]!# ]/g, '\\$&')}${isAnchored ? '/' : '/**/'}${rule.replace(/^\//, '')}`
}
