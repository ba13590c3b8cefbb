import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The licences of the packages that these modules are of, as comments: they have to go with the code, also through another bundler. */
export function noticesOf(modules) {
  const folders = new Set(modules.filter((file) => file.includes('/node_modules/')).map(packageOf))
  return [...folders].sort().map(noticeOf).join('')
}

function noticeOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry))
  if (file === undefined) throw new Error(`Expected a licence in ${folder}: the code of ${name} can't be shipped without it`)
  const text = readFileSync(join(folder, file), 'utf8').trim().replaceAll('*/', '* /')
  return `/*! ${name} ${version}\n${text}\n*/\n`
}

/** The folder of the package that a file is of. */
function packageOf(file) {
  const above = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? dirname(file)
  if (!existsSync(join(above, 'package.json'))) throw new Error(`Expected a package in ${above}`)
  return above
}
