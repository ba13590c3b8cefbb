import { Answer } from '../reading/answer.tsx'
import { CallCard } from './call-card.tsx'
import type { Step, Steps } from './steps.ts'

/** Maximum number of characters of a model's reasoning. */
const mostReasoning = 100_000

/** Shows the steps of a run or a conversation. */
export function Timeline({ steps: store }: { steps: Steps }) {
  const { question, dropped, steps } = store.toShow()
  return (
    <ol class="timeline">
      {question !== undefined && <li class="item user">{question}</li>}
      {dropped > 0 && <li class="item note">{`${dropped.toLocaleString()} earlier steps are not shown`}</li>}
      {steps.map((step) => (
        <li key={step.key} class={classOf(step)}>
          <StepView step={step} />
        </li>
      ))}
    </ol>
  )
}

function classOf(step: Step): string {
  if (step.kind === 'call') return 'item tool-call'
  return step.kind === 'note' && step.isError ? 'item note error' : `item ${step.kind}`
}

function StepView({ step }: { step: Step }) {
  switch (step.kind) {
    case 'turn':
      return (
        <>
          Turn {step.turn.iteration} <span class="muted">{`${step.turn.provider} / ${step.turn.model}`}</span>
        </>
      )
    case 'user':
      return (
        <>
          {step.text}
          {step.runId !== undefined && <RunLink id={step.runId} text={step.text} />}
        </>
      )
    case 'note':
      return <>{step.text}</>
    case 'reasoning':
      return (
        <details>
          <summary class="reasoning-summary">Reasoning</summary>
          <div class="reasoning-text">{shortened(textOf(step.texts))}</div>
        </details>
      )
    case 'assistant':
      return <Answer text={textOf(step.texts)} isWriting={step.turn !== undefined && step.turn.endedAt === undefined} />
    case 'call':
      return <CallCard call={step.call} asks />
  }
}

function textOf(texts: readonly { text: string }[]): string {
  return texts.map(({ text }) => text).join('')
}

function shortened(text: string): string {
  return text.length > mostReasoning ? `${text.slice(0, mostReasoning)} … (truncated)` : text
}

function RunLink({ id, text }: { id: string; text: string }) {
  return (
    <a class="chat-run" href={`#/runs/${encodeURIComponent(id)}`} aria-label={`Run of: ${text.slice(0, 60)}`}>
      Run
    </a>
  )
}
