import type { Check } from '../../core/check-options.ts'

/** What toolloop needs to know about a setting, besides its type and its docstring. */
export interface SettingRow {
  check: Check
  /** The value of the setting if neither the run nor its runner sets it. Only for settings that `resolveLimits` fills in. */
  default?: number
  /**
   * How a run that outlives its process stores the setting: as JSON, or as numbers that may be infinite. Settings that are not stored are
   * functions, or belong to the caller.
   */
  stored: 'json' | 'numbers' | 'not stored'
}

/** A row for each setting of a type. The compiler rejects a missing one and an unknown one. */
export type SettingRows<Settings> = Readonly<Record<keyof Settings, SettingRow>>

/** The checks of these settings. */
export function checksOf<Name extends string>(rows: Readonly<Record<Name, Pick<SettingRow, 'check'>>>): Readonly<Record<Name, Check>> {
  const entries = Object.entries<Pick<SettingRow, 'check'>>(rows)
  return Object.fromEntries(entries.map(([name, { check }]) => [name, check])) as Record<Name, Check>
}
