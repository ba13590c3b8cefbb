import type { Check } from '../../core/check-options.ts'

/** The check, the default and the storage of a setting. */
export interface SettingRow {
  check: Check
  /** The value of the setting if neither the run nor its runner sets it. Set only for settings that `resolveLimits` fills in. */
  default?: number
  /**
   * How a run that outlives its process stores the setting: as JSON, or as JSON with numbers that may be infinite. Functions, and settings
   * that belong to the caller, are not stored.
   */
  stored: 'json' | 'numbers' | 'not stored'
}

/** A row for each setting of a type. The compiler rejects missing rows and unknown rows. */
export type SettingRows<Settings> = Readonly<Record<keyof Settings, SettingRow>>

/** The checks of these settings. */
export function checksOf<Name extends string>(rows: Readonly<Record<Name, Pick<SettingRow, 'check'>>>): Readonly<Record<Name, Check>> {
  const entries = Object.entries<Pick<SettingRow, 'check'>>(rows)
  return Object.fromEntries(entries.map(([name, { check }]) => [name, check])) as Record<Name, Check>
}
