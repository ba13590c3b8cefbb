import type { ChatModel, ModelCapabilities, ModelRequest, ModelResponse, ModelSink } from '../chat-model.ts'
import { type AnyModel, openModel } from '../create-model.ts'

/** A model that can be replaced while runs are in progress. */
export interface SwitchableModel extends ChatModel {
  /** The model that the next turn uses. */
  readonly current: ChatModel
  /**
   * Uses `model` from the next turn on. A turn in progress keeps its model. Throws the errors of `createModel`; the current model is then
   * kept.
   */
  switchTo(model: AnyModel): void
}

/** Creates a switchable model. Throws the errors of `createModel`. */
export function switchableModel(initial: AnyModel): SwitchableModel {
  let current = openModel(initial)
  return {
    get current(): ChatModel {
      return current
    },
    get provider(): string {
      return current.provider
    },
    get model(): string {
      return current.model
    },
    get capabilities(): ModelCapabilities {
      return current.capabilities
    },
    get baseURL(): string | undefined {
      return current.baseURL
    },
    get api(): string | undefined {
      return current.api
    },
    switchTo(model: AnyModel): void {
      current = openModel(model)
    },
    async prepare(): Promise<void> {
      await current.prepare?.()
    },
    forTurn(): ChatModel {
      return current.forTurn?.() ?? current
    },
    generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      return current.generate(request, sink)
    },
  }
}
