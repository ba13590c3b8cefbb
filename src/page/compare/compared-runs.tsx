import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ask, messageOf } from '../data/api.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import { whyNoRecording } from '../runs/export-dialog.tsx'
import { useWhenConnected } from '../ui/live-context.ts'
import { Loading } from '../ui/loaded.tsx'
import { ComparedCalls } from './compare-calls.tsx'
import { FactsTable } from './compare-facts.tsx'
import { Compared } from './compared.tsx'

/** The input of a run, taken from its recording. */
interface Given {
  instructions?: string
  tools: { name: string; description: string; parameters: unknown }[]
  settings: unknown
}

/** One of the compared runs. `why` says why it has no recording. */
interface Side {
  run: RunWithResult
  recording?: { given: Given }
  why: string
}

/** Compares the input, actions and results of two runs. */
export function ComparedRuns({ first, second }: { first: string; second: string }) {
  const [sides, setSides] = useState<[Side, Side] | { failure: string }>()
  const load = () => Promise.all([sideOf(first), sideOf(second)]).then(setSides, (thrown) => setSides({ failure: messageOf(thrown) }))
  useWhenConnected(load, `${first} ${second}`)
  if (sides === undefined) return <Loading />
  if ('failure' in sides) return <Loading failure={sides.failure} retry={load} />
  const [{ run: one }, { run: other }] = sides
  return (
    <>
      <FactsTable one={one} other={other} />
      <Part title="Input">
        <Compared before={one.input} after={other.input} label="Input" />
      </Part>
      <Part title="Instructions, tools and settings">
        <ComparedGiven sides={sides} />
      </Part>
      <Part title="Answer">
        <Compared before={answerOf(one)} after={answerOf(other)} label="Answer" />
      </Part>
      <Part title="Calls">
        <ComparedCalls one={one.result?.toolCalls ?? []} other={other.result?.toolCalls ?? []} />
      </Part>
    </>
  )
}

async function sideOf(id: string): Promise<Side> {
  const path = `v1/runs/${encodeURIComponent(id)}`
  let why = ''
  const [run, recording] = await Promise.all([
    ask(path),
    ask(`${path}/recording`).catch((thrown: unknown) => {
      why = whyNoRecording(thrown)
    }),
  ])
  return { run, recording, why }
}

function answerOf({ result, output = '' }: RunWithResult): string {
  return result?.text ?? output
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="compare-part">
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function ComparedGiven({ sides: [a, b] }: { sides: [Side, Side] }) {
  if (a.recording === undefined || b.recording === undefined) {
    const which = a.recording !== undefined ? 'Of the second run: ' : b.recording !== undefined ? 'Of the first run: ' : ''
    return <p class="muted">{`Runs can be compared only if both have a recording. ${which}${a.why || b.why}`}</p>
  }
  const [one, other] = [a.recording.given, b.recording.given]
  const toolsOf = (given: Given) => given.tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  return (
    <>
      <Compared before={one.instructions ?? ''} after={other.instructions ?? ''} label="Instructions" />
      <Compared before={toolsOf(one)} after={toolsOf(other)} label="Tools" />
      <Compared before={one.settings} after={other.settings} label="Settings" />
    </>
  )
}
