import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const styles = ['style.css', 'views.css', 'runs.css', 'reading.css']

/**
 * Makes of the admin page's modules what a browser loads: one script, others for Markdown and for views when they are needed, and one style
 * sheet, which may be kept for ever because their names have their contents' hashes in them, and the small script that runs before anything is
 * painted.
 */
export async function bundlePage(from, to) {
  mkdirSync(to, { recursive: true })
  const write = (name, ending, content) => {
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8)
    const file = `${name}-${hash}.${ending}`
    writeFileSync(join(to, file), content)
    return file
  }
  const app = await writeScript(join(from, 'app.js'), to)
  const theme = await writeScript(join(from, 'theme.js'), to)
  const style = write('style', 'css', styles.map((name) => readFileSync(join(from, name), 'utf8')).join(''))
  const html = readFileSync(join(from, 'index.html'), 'utf8')
    .replaceAll(/ *<link rel="(?:modulepreload|stylesheet)"[^\n]*\n/g, '')
    .replace('<script src="theme.js"></script>', `<link rel="stylesheet" href="${style}" />\n    <script src="${theme}"></script>`)
    .replace('src="app.js"', `src="${app}"`)
  writeFileSync(join(to, 'index.html'), html)
  copyFileSync(join(from, 'icon.svg'), join(to, 'icon.svg'))
}

/** Writes a script, and what it loads when it needs it. Returns its name. */
async function writeScript(input, to) {
  const bundle = await rolldown({ input, platform: 'browser', resolve: { alias: { '../lib/marked.js': 'marked' } } })
  const { output } = await bundle.write({
    dir: to,
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    postBanner: ({ name }) => (name === 'markdown' ? noticeOf('marked') : ''),
  })
  await bundle.close()
  return output[0].fileName
}

/** The licence of a package, which has to go with its code. */
function noticeOf(name) {
  const text = readFileSync(fileURLToPath(new URL('../LICENSE', import.meta.resolve(name))), 'utf8')
  return `/*! ${name}\n${text.match(/^Copyright[\s\S]*?SOFTWARE\.$/m)?.[0]}\n*/`
}
