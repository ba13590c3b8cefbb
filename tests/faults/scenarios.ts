import { type FaultName, faults, faultsOf } from './faults.ts'
import { randomOf } from './random.ts'
import type { Scenario } from './scenario.ts'

/** The scenario of a seed. `fault`: its only kind; else faults of all kinds. */
export function scenarioOf(seed: number, store: 'sqlite' | 'dbos', fault?: string): Scenario {
  if (fault !== undefined && !(fault in faults)) throw new Error(`Expected a fault of ${Object.keys(faults).join(', ')}, got ${fault}`)
  const random = randomOf(seed ^ 0x5eed)
  const names = Array.from({ length: 5 }, () => (fault as FaultName | undefined) ?? random.pick(faultsOf[store]))
  return { seed, faults: names }
}
