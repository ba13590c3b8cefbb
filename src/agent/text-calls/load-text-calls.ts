import type { Dialect } from '../../dialects/dialect.ts'
import type { CallForm } from './mode.ts'
import type { TextCallOptions, TextCalls } from './text-calls.ts'

/** Loads a module only once, because importing a loaded module again costs as much as the rest of a turn. */
export function once<Module>(load: () => Promise<Module>): () => Promise<Module> | Module {
  let loaded: Module | undefined
  return () => loaded ?? load().then((module) => (loaded = module))
}

const loadTextCalls = once(() => import('./text-calls.ts'))
const loadToolAction = once(() => import('../../dialects/formats/tool-action.ts'))
const loadDialects = once(() => import('../../dialects/index.ts'))

/** Loads only the dialects that the form needs. Loading all dialects would be the slowest part of the start. */
export async function openTextCalls(form: CallForm, options: TextCallOptions): Promise<TextCalls> {
  const loaded = await loadTextCalls()
  return new loaded.TextCalls(form, await findDialectOf(form), options)
}

async function findDialectOf(form: CallForm): Promise<Dialect | undefined> {
  if (form.native && form.listenFor === undefined) return undefined
  if (form.native && form.listenFor === 'tags') return (await loadToolAction()).toolAction
  const { findDialect } = await loadDialects()
  if (!form.native) return findDialect(form.dialect)
  // Combines both dialects, because a model may write calls in either.
  const [toolAction, salvage] = [findDialect('tool-action'), findDialect('salvage')]
  return {
    ...salvage,
    envelopes: [...toolAction.envelopes, ...salvage.envelopes],
    resultMarkers: [...toolAction.resultMarkers, ...salvage.resultMarkers],
  }
}
