import { nearestName } from '../core/nearest-name.ts'
import { bundledPrices } from './bundled-prices.ts'
import type { ModelPrice } from './chat-model.ts'
import type { ListedModel } from './provider-preset.ts'

let prices: ReturnType<typeof bundledPrices> | undefined

/** Returns a model's current price and context window, if its provider has published them. */
export function listedFacts(provider: string, model: string): { price?: ModelPrice; contextWindow?: number } {
  prices ??= bundledPrices()
  const models = Object.hasOwn(prices, provider) ? prices[provider] : undefined
  if (models === undefined) return {}
  const name = model.slice(model.lastIndexOf('/') + 1)
  const listed = own(models, name) ?? own(models, name.replace(/[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{3})$/, ''))
  if (listed === undefined) return {}
  const today = new Date().toISOString().slice(0, 10)
  const current = listed.prices.find(({ until }) => until === undefined || until >= today)
  const { contextWindow } = listed
  if (current === undefined) return { contextWindow }
  const { until: _, ...price } = current
  return { contextWindow, price }
}

function own(models: Readonly<Record<string, ListedModel>>, name: string): ListedModel | undefined {
  return Object.hasOwn(models, name) ? models[name] : undefined
}

/** Returns the names of a provider's models whose prices are known. */
export function listedModels(provider: string): string[] {
  prices ??= bundledPrices()
  return Object.hasOwn(prices, provider) ? Object.keys(prices[provider] ?? {}) : []
}

/** Suggests `provider/model` for a model's name that was given without its provider. The name may be misspelled. */
export function nearestModel(name: string): string | undefined {
  prices ??= bundledPrices()
  const known = new Map<string, string>()
  for (const provider of Object.keys(prices))
    for (const model of listedModels(provider)) if (!known.has(model)) known.set(model, `${provider}/${model}`)
  return known.get(name) ?? known.get(nearestName(name, known.keys()) ?? '')
}
