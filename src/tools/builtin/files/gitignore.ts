import ignore, { type Ignore } from 'ignore'

/**
 * Adds the rules in `text`, the content of another file. They take precedence over the rules in `above`. `folder` is the folder of this
 * file relative to the folder of the first one: empty, or `a/b`.
 */
export function addRules(above: Ignore | undefined, folder: string, text: string): Ignore {
  const rules = ignore({ ignorecase: false })
  if (above !== undefined) rules.add(above)
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return rules.add(lines.filter((line) => line.length <= maxRuleLength).map((line) => ruleBelow(folder, line)))
}

/** The maximum length of a path: a longer rule can't match anything. */
const maxRuleLength = 4_096

/** Rewrites a rule of a file in `folder` as the first file would contain it. */
function ruleBelow(folder: string, line: string): string {
  if (folder === '' || line.startsWith('#')) return line
  const [, negation, rule = ''] = /^(!?)(.*)$/s.exec(line) ?? []
  // Without slashes the rule is empty, and with the folder in front it would match the folder itself.
  if (/^\/* *$/.test(rule)) return ''
  const isAnchored = /\/(?! *$)/.test(rule)
  return `${negation}${folder.replace(/[\\*?[\]!# ]/g, '\\$&')}${isAnchored ? '/' : '/**/'}${rule.replace(/^\//, '')}`
}
