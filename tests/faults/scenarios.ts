import { type FaultName, faults, faultsOf } from './faults.ts'
import { randomOf } from './random.ts'
import type { Scenario } from './scenario.ts'

/** The scenario of a seed: five faults of these kinds. Default: all kinds. */
export function scenarioOf(seed: number, store: 'sqlite' | 'dbos', kinds: readonly string[] = faultsOf[store]): Scenario {
  const random = randomOf(seed ^ 0x5eed)
  return { seed, faults: Array.from({ length: 5 }, () => faultNamed(random.pick(kinds))) }
}

function faultNamed(name: string): FaultName {
  if (Object.hasOwn(faults, name)) return name as FaultName
  throw new Error(`Expected one of ${Object.keys(faults).join(', ')}, got ${name}`)
}
