import { unchecked } from '../../core/check-options.ts'
import { type Sampling, samplingNames } from '../../models/chat-model.ts'
import { type ControlSettings, controlSettings } from './control-settings.ts'
import { type LimitSettings, limitSettings } from './limit-settings.ts'
import { type RequestSettings, requestSettings } from './request-settings.ts'
import type { SettingRows } from './setting-row.ts'

/** Settings of a runner that a run can override. */
export interface RunSettings<Context = unknown> extends Sampling, LimitSettings, RequestSettings, ControlSettings<Context> {}

/** The older name of `RunSettings`. */
export type ReActOptions<Context = unknown> = RunSettings<Context>

const sampling = Object.fromEntries(Object.keys(samplingNames).map((name) => [name, { check: unchecked, stored: 'json' }]))

/** Every setting, with its check and how it is stored. */
export const runSettings: SettingRows<RunSettings> = {
  ...(sampling as SettingRows<Sampling>),
  ...limitSettings,
  ...requestSettings,
  ...controlSettings,
}
