import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const styles = ['style.css', 'views.css', 'runs.css', 'reading.css']

/**
 * Makes of the admin page's modules what a browser loads: one script and one style sheet, which may be kept for ever because their names
 * have their contents' hashes in them, and the small script that runs before anything is painted.
 */
export async function bundlePage(from, to) {
  mkdirSync(to, { recursive: true })
  const write = (name, ending, content) => {
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8)
    const file = `${name}-${hash}.${ending}`
    writeFileSync(join(to, file), content)
    return file
  }
  const app = write('app', 'js', await scriptOf(join(from, 'app.js')))
  const theme = write('theme', 'js', await scriptOf(join(from, 'theme.js')))
  const style = write('style', 'css', styles.map((name) => readFileSync(join(from, name), 'utf8')).join(''))
  const html = readFileSync(join(from, 'index.html'), 'utf8')
    .replaceAll(/ *<link rel="(?:modulepreload|stylesheet)"[^\n]*\n/g, '')
    .replace('<script src="theme.js"></script>', `<link rel="stylesheet" href="${style}" />\n    <script src="${theme}"></script>`)
    .replace('src="app.js"', `src="${app}"`)
  writeFileSync(join(to, 'index.html'), html)
  copyFileSync(join(from, 'icon.svg'), join(to, 'icon.svg'))
}

async function scriptOf(input) {
  const bundle = await rolldown({ input, platform: 'browser', resolve: { alias: { '../lib/marked.js': 'marked' } } })
  const { output } = await bundle.generate({ format: 'esm', minify: true, codeSplitting: false })
  await bundle.close()
  return output[0].code
}
