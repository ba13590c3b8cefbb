import type { Check } from '../../core/check-options.ts'

export interface SettingRow {
  check: Check
  /** The value of the setting if neither the run nor its runner sets it. Set only for settings that `resolveLimits` fills in. */
  default?: number
  /**
   * How the setting is stored with a paused or recorded run. `'numbers'`: as JSON whose numbers may be infinite. Functions, and settings
   * that belong to the caller, are not stored.
   */
  stored: 'json' | 'numbers' | 'not stored'
}

/** A row for each setting of a type. The compiler rejects missing rows and unknown rows. */
export type SettingRows<Settings> = Readonly<Record<keyof Settings, SettingRow>>

export function checksOf<Name extends string>(rows: Readonly<Record<Name, Pick<SettingRow, 'check'>>>): Readonly<Record<Name, Check>> {
  const entries = Object.entries<Pick<SettingRow, 'check'>>(rows)
  return Object.fromEntries(entries.map(([name, { check }]) => [name, check])) as Record<Name, Check>
}
