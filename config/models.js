import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { findPreset, hostedApi, presetOver, presetQuirks } from '../src/models/presets.ts'

/** The tables of docs/models.md, from config/prices.yaml and config/providers.yaml. */
const priceLists = parse(readFileSync(new URL('prices.yaml', import.meta.url), 'utf8'), { merge: true })
const titles = { openai: 'OpenAI', anthropic: 'Anthropic', google: 'Google' }
const apis = {
  openai: 'Chat Completions',
  'openai-responses': 'Responses',
  anthropic: 'Messages',
  google: 'generateContent',
}
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

function effortsOf(preset, model) {
  const { reasoningEffort: known = preset.driver.startsWith('openai') } = Object.assign({}, ...presetQuirks(preset, model))
  if (typeof known === 'boolean') return known ? efforts : []
  return efforts.filter((effort) => (Array.isArray(known) ? known.includes(effort) : effort in known))
}

/** A price and, after a slash, that of long requests. */
function costOf(price, field) {
  const { longContext } = price
  if (price[field] === undefined) return '–'
  return longContext?.[field] === undefined ? `${price[field]}` : `${price[field]} / ${longContext[field]}`
}

function rowOf(provider, model, { price: listed, contextWindow, checked }) {
  const preset = findPreset(provider)
  const hosted = hostedApi(preset, model)
  const served = hosted === undefined ? preset : presetOver(hosted, preset, {})
  const prices = [listed].flat()
  const cost = (field) => prices.map((price) => `${costOf(price, field)}${price.until ? ` until ${price.until}, then ` : ''}`).join('')
  const above = prices[0].longContext === undefined ? '' : ` (/ above ${prices[0].longContext.above.toLocaleString('en-US')})`
  const cells = [
    `\`${provider}/${model}\``,
    apis[served.driver],
    `${contextWindow.toLocaleString('en-US')}${above}`,
    cost('input'),
    cost('cacheRead'),
    cost('output'),
    effortsOf(served, model).join(', ') || '–',
    checked,
  ]
  return `| ${cells.join(' | ')} |\n`
}

export function modelTables() {
  const seen = new Set()
  const sections = Object.entries(priceLists).map(([provider, { source, models }]) => {
    // Other names of a provider share its list.
    if (seen.has(models)) return ''
    seen.add(models)
    const rows = Object.entries(models)
      .reverse()
      .map(([model, facts]) => rowOf(provider, model, facts))
    return `
## ${titles[provider] ?? provider}

Source: ${source}

| model | API | context window | input | cached input | output | efforts | checked |
|---|---|---|---|---|---|---|---|
${rows.join('')}`
  })
  return sections.join('')
}

/** Every model of the lists, as `provider/model`. */
export function listedModels() {
  return Object.entries(priceLists).flatMap(([provider, { models }]) => Object.keys(models).map((model) => `${provider}/${model}`))
}
