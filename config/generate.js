import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

/**
 * Writes modules from other files that the code needs, because a bundle has no files beside it at run time. With `--check`, it writes
 * nothing and fails if a module is out of date.
 */
const root = new URL('../', import.meta.url)
const read = (file) => readFileSync(new URL(file, root), 'utf8')

/** Models with their prices, and their providers. */
const priceLists = new Map()
for (const [name, { models }] of Object.entries(parse(read('config/prices.yaml'), { merge: true })))
  priceLists.set(models, [...(priceLists.get(models) ?? []), name])

/** A line of the price list without the fields that are only for readers. */
function listed([model, { price, contextWindow }]) {
  return `    ${JSON.stringify(model)}: ${JSON.stringify({ contextWindow, prices: [price].flat() })},`
}

const generated = {
  'src/core/version.ts': `// Made from package.json by \`npm run generate\`: change it there.
/** This package's version, such as \`1.2.3\`. */
export const version = '${JSON.parse(read('package.json')).version}'
`,
  'src/models/bundled-presets.ts': `// Made from config/providers.yaml by \`npm run generate\`: change it there.
import type { ProviderPreset } from './provider-preset.ts'

export const bundledPresets: Readonly<Record<string, ProviderPreset>> = {
${Object.entries(parse(read('config/providers.yaml')))
  .map(([name, preset]) => `  ${JSON.stringify(name)}: ${JSON.stringify(preset)},`)
  .join('\n')}
}
`,
  'src/models/bundled-prices.ts': `// Made from config/prices.yaml by \`npm run generate\`: change it there.
import type { ListedModel } from './provider-preset.ts'

type Models = Readonly<Record<string, ListedModel>>

/** Returns the bundled prices, by provider and model. Builds the object only when called, so that an import costs nothing. */
export function bundledPrices(): Readonly<Record<string, Models>> {
${[...priceLists].map(([models, [name]]) => `  const ${name}: Models = {\n${Object.entries(models).map(listed).join('\n')}\n  }`).join('\n')}
  return { ${[...priceLists.values()].flatMap((names) => names.map((name) => `${JSON.stringify(name)}: ${names[0]}`)).join(', ')} }
}
`,
  'src/service/config/config-schema.ts': `// Made from config/toolloop.schema.json by \`npm run generate\`: change it there.
/** The JSON Schema of toolloop.yaml. */
export const configSchema: Readonly<Record<string, unknown>> = ${JSON.stringify(JSON.parse(read('config/toolloop.schema.json')))}
`,
}

const stale = Object.entries(generated).filter(([file, text]) => !existsSync(new URL(file, root)) || read(file) !== text)
if (!process.argv.includes('--check')) for (const [file, text] of stale) writeFileSync(new URL(file, root), text)
else if (stale.length > 0) throw new Error(`Run npm run generate, for ${stale.map(([file]) => file).join(', ')}`)
