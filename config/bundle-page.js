import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const styles = ['style.css', 'views.css', 'runs.css', 'reading.css']

/**
 * Bundles the admin page for browsers: one script, further scripts for Markdown and for views that are loaded on demand, one style sheet,
 * and the small script that runs before the first paint. File names contain hashes of the contents, so browsers may cache them forever.
 */
export async function bundlePage(from, to) {
  mkdirSync(to, { recursive: true })
  const before = readdirSync(to)
  const written = new Set(['index.html', 'icon.svg'])
  // A reader gets either the old file or the new one.
  const write = (file, content) => {
    const unfinished = join(to, `.${process.pid}.${file}`)
    writeFileSync(unfinished, content)
    renameSync(unfinished, join(to, file))
    written.add(file)
    return file
  }
  const scripts = { app: '', theme: '' }
  for (const [name, input] of [
    ['app', 'app.tsx'],
    ['theme', 'theme.js'],
  ]) {
    for (const { fileName, code, isEntry } of await scriptsOf(join(from, input))) {
      write(fileName, code)
      if (isEntry) scripts[name] = fileName
    }
  }
  const css = styles.map((name) => withoutSpace(readFileSync(join(from, name), 'utf8'))).join('')
  const style = write(`style-${createHash('sha256').update(css).digest('base64url').slice(0, 8)}.css`, css)
  copyFileSync(join(from, 'icon.svg'), join(to, 'icon.svg'))
  const html = readFileSync(join(from, 'index.html'), 'utf8')
    .replaceAll(/ *<link rel="stylesheet"[^\n]*\n/g, '')
    .replace('<script src="theme.js"></script>', `<link rel="stylesheet" href="${style}" />\n    <script src="${scripts.theme}"></script>`)
    .replace('src="app.tsx"', `src="${scripts.app}"`)
  write('index.html', html)
  for (const name of before) if (!written.has(name) && !name.startsWith('.')) rmSync(join(to, name), { force: true })
}

/** Removes a style sheet's comments and unnecessary white space. */
function withoutSpace(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};]) ?/g, '$1')
    .replace(/([:,]) /g, '$1')
    .replace(/;\}/g, '}')
}

/** Bundles a script with its static imports. Dynamic imports become separate scripts. */
async function scriptsOf(input) {
  const imports = new Map()
  const list = { name: 'list', moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds) }
  const bundle = await rolldown({ input, platform: 'browser', plugins: [list], transform: { jsx: { pure: false } } })
  let reached
  const isNeededAtOnce = (id) => {
    reached ??= reachedFrom(input, imports)
    return reached.has(id)
  }
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    codeSplitting: { groups: [{ name: 'app', test: isNeededAtOnce }] },
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    postBanner: noticesOf,
  })
  await bundle.close()
  return output
}

/** The modules that a module imports, directly or indirectly, without dynamic imports. */
export function reachedFrom(entry, imports, reached = new Set()) {
  if (reached.has(entry) || !imports.has(entry)) return reached
  reached.add(entry)
  for (const imported of imports.get(entry)) reachedFrom(imported, imports, reached)
  return reached
}

/** The licenses of the packages in a script, which must be shipped with their code. */
export function noticesOf({ modules }) {
  const names = Object.keys(modules).flatMap((file) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [])
  return [...new Set(names)].map(noticeOf).join('\n')
}

function noticeOf(name) {
  const folder = dirname(findPackageJSON(name, import.meta.url))
  const file = readdirSync(folder).find((entry) => entry.startsWith('LICENSE'))
  const text = readFileSync(join(folder, file), 'utf8')
  return `/*! ${name}\n${text.match(/^(?:The MIT|Copyright)[\s\S]*?SOFTWARE\.$/m)[0]}\n*/`
}

/** The page's files for a service that runs from its sources. Bundled again if the page's sources have changed. */
export async function bundlePageOfSource() {
  const from = fileURLToPath(new URL('../src/page/', import.meta.url))
  const to = fileURLToPath(new URL('../src/service/page/', import.meta.url))
  const changed = Math.max(
    ...readdirSync(from, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(from, name)).mtimeMs),
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
  )
  const built = join(to, 'index.html')
  if (existsSync(built) && statSync(built).mtimeMs > changed) return
  await bundlePage(from, to)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePageOfSource()
