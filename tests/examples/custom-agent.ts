import { BaseTool, CustomAgent, type RunnerOptions, type ToolContext } from '../../src/index.ts'

interface Shop {
  stock: Map<string, number>
}

class CheckStock extends BaseTool<{ item: string }, Shop> {
  readonly name = 'check_stock'
  readonly description = 'How many of an item are in stock.'
  readonly parameters = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] }
  override readonly effect = 'read'

  execute({ item }: { item: string }, { context }: ToolContext<Shop>) {
    return { item, inStock: context.stock.get(item) ?? 0 }
  }
}

class Clerk extends CustomAgent<Shop> {
  constructor(options: Partial<RunnerOptions<Shop>> = {}) {
    super({ model: 'demo', instructions: 'You answer questions about the stock.', tools: [new CheckStock()], ...options })
  }
}

const { output } = await new Clerk().run('call check_stock with {"item": "lamp"}', { context: { stock: new Map([['lamp', 3]]) } })
console.log(output)
