import { listedModels } from '../../models/price-list.ts'
import type { ModelSettings } from '../../models/settings.ts'
import { readConfig } from '../../service/config/config-file.ts'
import { describeModel } from '../setup/choose-model.ts'
import { findServers, localServers } from '../setup/local-servers.ts'
import { findKeys } from '../setup/provider-keys.ts'
import type { CliIO } from '../terminal/terminal.ts'

const probeMs = 1_000

interface KnownModel {
  /** The value for `--model`. */
  name: string
  model: string | ModelSettings
  /** Where the model was found, as text to display. */
  from: string
}

/**
 * Returns the models that can be used: models in the configuration, models of servers on this machine, models of providers whose API key is
 * set, and the demo model.
 */
export async function knownModels({ env, cwd }: Pick<CliIO, 'env' | 'cwd'>, signal: AbortSignal): Promise<KnownModel[]> {
  const { models: configured = {} } = (await readConfig(cwd, env)) ?? {}
  const servers = await findServers(localServers(env), probeMs, signal)
  return [
    ...Object.entries(configured).map(([name, model]) => ({ name, model, from: `${describeModel(model)} · configured` })),
    ...servers.flatMap(({ provider, baseURL, models }) =>
      models.map((model) => ({ name: `${provider}/${model}`, model: { provider, model, baseURL }, from: baseURL })),
    ),
    ...findKeys(env).flatMap(({ provider, variable }) =>
      listedModels(provider)
        .toReversed()
        .map((model) => ({ name: `${provider}/${model}`, model: `${provider}/${model}`, from: variable })),
    ),
    { name: 'demo', model: 'demo', from: 'no language model, needs no key' },
  ]
}
