import ignore, { type Ignore } from 'ignore'

/** The rules of one more file, which win over those `above`. `folder` is the file's, relative to that of the first file: empty, or `a/b`. */
export function addRules(above: Ignore | undefined, folder: string, text: string): Ignore {
  const rules = ignore({ ignorecase: false })
  if (above !== undefined) rules.add(above)
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return rules.add(lines.filter((line) => line.length <= maxRuleLength).map((line) => ruleBelow(folder, line)))
}

/** No path is longer, so a longer rule matches nothing. */
const maxRuleLength = 4_096

/** The rule of a file in `folder`, as the first file would say it. */
function ruleBelow(folder: string, line: string): string {
  if (folder === '' || line.startsWith('#')) return line
  const [, negation, rule = ''] = /^(!?)(.*)$/s.exec(line) ?? []
  // Nothing is left without the slashes; below a folder it would be the folder itself.
  if (/^\/* *$/.test(rule)) return ''
  const isAnchored = /\/(?! *$)/.test(rule)
  return `${negation}${folder.replace(/[\\*?[\]!# ]/g, '\\$&')}${isAnchored ? '/' : '/**/'}${rule.replace(/^\//, '')}`
}
