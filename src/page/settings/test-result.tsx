import { useState } from 'preact/hooks'
import { messageOf } from '../data/api.ts'
import type { ModelEntry } from '../data/model-settings.ts'
import { type Told, testModel } from '../data/test-model.ts'

/** Returns the result of the last test of a model, and a function that starts a test. */
export function useModelTest(): { told: Told; test(model: ModelEntry): Promise<void> } {
  const [told, tell] = useState<Told>({ text: '', kind: '' })
  const test = async (model: ModelEntry) => {
    tell({ text: 'Testing…', kind: '' })
    tell(await testModel(model).catch((thrown) => ({ text: messageOf(thrown), kind: 'bad' as const })))
  }
  return { told, test }
}

export function TestResult({ text, kind }: Told) {
  return (
    <p class={`test-result ${kind}`} role="status">
      {text}
    </p>
  )
}
