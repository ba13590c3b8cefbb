/** Other runtimes, in `peers/`: a package of its own, which `npm run bench:peers` installs. */
import { add, type Loop, prompt } from './loops.ts'

interface PeerOptions {
  url: string
  stream: boolean
  rounds: number
  prompt: string
  /** What a model in memory answers in the end. */
  answer: string
  add(this: void, numbers: { a: number; b: number }): number
}

/** Makes an agent that is used for many runs; gives a function that makes one, and resolves with the text of its last turn. */
export type Peer = (options: PeerOptions) => (onText: (piece: string) => void) => Promise<string>

interface PeerModule {
  make: Peer
  /** The same loop over a model in memory. */
  makeInMemory?: Peer
}

export const peerNames = ['ai-sdk', 'openai-agents', 'langchain', 'mastra', 'pi'] as const
export type PeerName = (typeof peerNames)[number]

/** What a model in memory answers in the end. */
export const answer = 'Done.'

/** A peer as a loop. Loaded with its first run: nobody needs it who does not measure it. */
export function peer(name: PeerName, kind: keyof PeerModule = 'make'): Loop {
  const agents = new Map<string, Promise<ReturnType<Peer>>>()
  const agentFor = async (url: string, stream: boolean, rounds: number): Promise<ReturnType<Peer>> => {
    const module: PeerModule = await import(`./peers/${name}.js`)
    const make = module[kind]
    if (make === undefined) throw new Error(`Expected \`${kind}\` in peers/${name}.js`)
    return make({ url, stream, rounds, prompt, answer, add })
  }
  return async ({ url, stream, rounds, onText }) => {
    const key = `${url} ${stream} ${rounds}`
    const agent = agents.get(key) ?? agentFor(url, stream, rounds)
    agents.set(key, agent)
    const run = await agent
    return (await run(onText ?? (() => {}))).length
  }
}
