// Made from config/prices.yaml by `npm run generate`: change it there.
import type { ListedModel } from './provider-preset.ts'

type Models = Readonly<Record<string, ListedModel>>

/** Returns the bundled prices, by provider and model. Builds the object only when called, so that an import costs nothing. */
export function bundledPrices(): Readonly<Record<string, Models>> {
  const openai: Models = {
    "gpt-4o": {"contextWindow":128000,"prices":[{"input":2.5,"cacheRead":1.25,"output":10}]},
    "gpt-4o-2024-05-13": {"contextWindow":128000,"prices":[{"input":5,"output":15}]},
    "gpt-4o-mini": {"contextWindow":128000,"prices":[{"input":0.15,"cacheRead":0.075,"output":0.6}]},
    "gpt-4.1": {"contextWindow":1047576,"prices":[{"input":2,"cacheRead":0.5,"output":8}]},
    "gpt-4.1-mini": {"contextWindow":1047576,"prices":[{"input":0.4,"cacheRead":0.1,"output":1.6}]},
    "gpt-4.1-nano": {"contextWindow":1047576,"prices":[{"input":0.1,"cacheRead":0.025,"output":0.4}]},
    "o1": {"contextWindow":200000,"prices":[{"input":15,"cacheRead":7.5,"output":60}]},
    "o3": {"contextWindow":200000,"prices":[{"input":2,"cacheRead":0.5,"output":8}]},
    "o3-mini": {"contextWindow":200000,"prices":[{"input":1.1,"cacheRead":0.55,"output":4.4}]},
    "o3-pro": {"contextWindow":200000,"prices":[{"input":20,"output":80}]},
    "o4-mini": {"contextWindow":200000,"prices":[{"input":1.1,"cacheRead":0.275,"output":4.4}]},
    "gpt-5": {"contextWindow":272000,"prices":[{"input":1.25,"cacheRead":0.125,"output":10}]},
    "gpt-5-mini": {"contextWindow":272000,"prices":[{"input":0.25,"cacheRead":0.025,"output":2}]},
    "gpt-5-nano": {"contextWindow":272000,"prices":[{"input":0.05,"cacheRead":0.005,"output":0.4}]},
    "gpt-5-pro": {"contextWindow":272000,"prices":[{"input":15,"output":120}]},
    "gpt-5.1": {"contextWindow":272000,"prices":[{"input":1.25,"cacheRead":0.125,"output":10}]},
    "gpt-5.1-codex": {"contextWindow":272000,"prices":[{"input":1.25,"cacheRead":0.125,"output":10}]},
    "gpt-5.1-codex-max": {"contextWindow":272000,"prices":[{"input":1.25,"cacheRead":0.125,"output":10}]},
    "gpt-5.1-codex-mini": {"contextWindow":272000,"prices":[{"input":0.25,"cacheRead":0.025,"output":2}]},
    "gpt-5.2": {"contextWindow":272000,"prices":[{"input":1.75,"cacheRead":0.175,"output":14}]},
    "gpt-5.2-codex": {"contextWindow":272000,"prices":[{"input":1.75,"cacheRead":0.175,"output":14}]},
    "gpt-5.2-pro": {"contextWindow":272000,"prices":[{"input":21,"output":168}]},
    "gpt-5.3-codex": {"contextWindow":272000,"prices":[{"input":1.75,"cacheRead":0.175,"output":14}]},
    "gpt-5.4": {"contextWindow":1050000,"prices":[{"input":2.5,"cacheRead":0.25,"output":15,"longContext":{"above":272000,"input":5,"cacheRead":0.5,"output":22.5}}]},
    "gpt-5.4-pro": {"contextWindow":1050000,"prices":[{"input":30,"output":180,"longContext":{"above":272000,"input":60,"output":270}}]},
    "gpt-5.4-mini": {"contextWindow":272000,"prices":[{"input":0.75,"cacheRead":0.075,"output":4.5}]},
    "gpt-5.4-nano": {"contextWindow":272000,"prices":[{"input":0.2,"cacheRead":0.02,"output":1.25}]},
    "gpt-5.5": {"contextWindow":1050000,"prices":[{"input":5,"cacheRead":0.5,"output":30,"longContext":{"above":272000,"input":10,"cacheRead":1,"output":45}}]},
    "gpt-5.5-pro": {"contextWindow":1050000,"prices":[{"input":30,"output":180,"longContext":{"above":272000,"input":60,"output":270}}]},
    "gpt-5.6-luna": {"contextWindow":1050000,"prices":[{"input":0.2,"cacheRead":0.02,"cacheWrite":0.25,"output":1.2,"longContext":{"above":272000,"input":0.4,"cacheRead":0.04,"cacheWrite":0.5,"output":1.8}}]},
    "gpt-5.6-terra": {"contextWindow":1050000,"prices":[{"input":2,"cacheRead":0.2,"cacheWrite":2.5,"output":12,"longContext":{"above":272000,"input":4,"cacheRead":0.4,"cacheWrite":5,"output":18}}]},
    "gpt-5.6-sol": {"contextWindow":1050000,"prices":[{"input":4,"cacheRead":0.4,"cacheWrite":5,"output":20,"longContext":{"above":272000,"input":8,"cacheRead":0.8,"cacheWrite":10,"output":30}}]},
    "gpt-6-astra": {"contextWindow":1050000,"prices":[{"input":10,"cacheRead":1,"cacheWrite":12.5,"output":50,"longContext":{"above":272000,"input":20,"cacheRead":2,"cacheWrite":25,"output":75}}]},
    "gpt-6-sol": {"contextWindow":1050000,"prices":[{"input":2,"cacheRead":0.2,"cacheWrite":2.5,"output":10,"longContext":{"above":272000,"input":4,"cacheRead":0.4,"cacheWrite":5,"output":15}}]},
    "gpt-6-luna": {"contextWindow":1050000,"prices":[{"input":0.1,"cacheRead":0.01,"cacheWrite":0.125,"output":0.5,"longContext":{"above":272000,"input":0.2,"cacheRead":0.02,"cacheWrite":0.25,"output":0.75}}]},
    "gpt-6.1-sol": {"contextWindow":1050000,"prices":[{"input":2,"cacheRead":0.1,"cacheWrite":2.5,"output":10,"longContext":{"above":272000,"input":4,"cacheRead":0.2,"cacheWrite":5,"output":15}}]},
    "gpt-6.1-terra": {"contextWindow":1050000,"prices":[{"input":1,"cacheRead":0.05,"cacheWrite":1.25,"output":5,"longContext":{"above":272000,"input":2,"cacheRead":0.1,"cacheWrite":2.5,"output":7.5}}]},
  }
  const anthropic: Models = {
    "claude-fable-5": {"contextWindow":1000000,"prices":[{"input":10,"cacheRead":1,"cacheWrite":12.5,"output":50}]},
    "claude-fable-5-1": {"contextWindow":1000000,"prices":[{"input":10,"cacheRead":0.25,"cacheWrite":12.5,"output":50}]},
    "claude-opus-4-5": {"contextWindow":200000,"prices":[{"input":5,"cacheRead":0.5,"cacheWrite":6.25,"output":25}]},
    "claude-opus-4-6": {"contextWindow":1000000,"prices":[{"input":5,"cacheRead":0.5,"cacheWrite":6.25,"output":25}]},
    "claude-opus-4-7": {"contextWindow":1000000,"prices":[{"input":5,"cacheRead":0.5,"cacheWrite":6.25,"output":25}]},
    "claude-opus-4-8": {"contextWindow":1000000,"prices":[{"input":5,"cacheRead":0.5,"cacheWrite":6.25,"output":25}]},
    "claude-opus-5": {"contextWindow":1000000,"prices":[{"input":5,"cacheRead":0.5,"cacheWrite":6.25,"output":25}]},
    "claude-opus-5-5": {"contextWindow":1000000,"prices":[{"input":4,"cacheRead":0.2,"cacheWrite":5,"output":20}]},
    "claude-sonnet-4-5": {"contextWindow":200000,"prices":[{"input":3,"cacheRead":0.3,"cacheWrite":3.75,"output":15}]},
    "claude-sonnet-4-6": {"contextWindow":1000000,"prices":[{"input":3,"cacheRead":0.3,"cacheWrite":3.75,"output":15}]},
    "claude-sonnet-5": {"contextWindow":1000000,"prices":[{"input":2,"cacheRead":0.2,"cacheWrite":2.5,"output":10}]},
    "claude-sonnet-5-5": {"contextWindow":1000000,"prices":[{"input":2,"cacheRead":0.1,"cacheWrite":2.5,"output":10}]},
    "claude-haiku-4-5": {"contextWindow":200000,"prices":[{"input":1,"cacheRead":0.1,"cacheWrite":1.25,"output":5}]},
    "claude-haiku-5-5": {"contextWindow":1000000,"prices":[{"input":0.1,"cacheRead":0.01,"cacheWrite":0.125,"output":0.5,"longContext":{"above":100000,"input":0.5,"cacheRead":0.05,"cacheWrite":0.625,"output":2.5}}]},
  }
  const google: Models = {
    "gemini-2.5-pro": {"contextWindow":1048576,"prices":[{"input":1.25,"cacheRead":0.125,"output":10,"longContext":{"above":200000,"input":2.5,"cacheRead":0.25,"output":15}}]},
    "gemini-2.5-flash": {"contextWindow":1048576,"prices":[{"input":0.3,"cacheRead":0.03,"output":2.5}]},
    "gemini-2.5-flash-lite": {"contextWindow":1048576,"prices":[{"input":0.1,"cacheRead":0.01,"output":0.4}]},
    "gemini-3-pro-preview": {"contextWindow":1048576,"prices":[{"input":2,"cacheRead":0.2,"output":12,"longContext":{"above":200000,"input":4,"cacheRead":0.4,"output":18}}]},
    "gemini-3-flash-preview": {"contextWindow":1048576,"prices":[{"input":0.5,"cacheRead":0.05,"output":3}]},
    "gemini-3.1-pro-preview": {"contextWindow":1048576,"prices":[{"input":2,"cacheRead":0.2,"output":12,"longContext":{"above":200000,"input":4,"cacheRead":0.4,"output":18}}]},
    "gemini-3.1-pro-preview-customtools": {"contextWindow":1048576,"prices":[{"input":2,"cacheRead":0.2,"output":12,"longContext":{"above":200000,"input":4,"cacheRead":0.4,"output":18}}]},
    "gemini-3.1-flash-lite": {"contextWindow":1048576,"prices":[{"input":0.25,"cacheRead":0.025,"output":1.5}]},
    "gemini-3.5-flash": {"contextWindow":1048576,"prices":[{"input":1.5,"cacheRead":0.15,"output":9}]},
    "gemini-3.5-flash-lite": {"contextWindow":1048576,"prices":[{"input":0.3,"cacheRead":0.03,"output":2.5}]},
    "gemini-3.6-flash": {"contextWindow":1048576,"prices":[{"until":"2026-12-31","input":0.75,"cacheRead":0.075,"output":3.75},{"input":1.5,"cacheRead":0.15,"output":7.5}]},
    "gemini-3.7-flash": {"contextWindow":1048576,"prices":[{"until":"2026-12-31","input":0.75,"cacheRead":0.075,"output":3.75},{"input":1.5,"cacheRead":0.15,"output":7.5}]},
    "gemini-3.8-flash": {"contextWindow":1048576,"prices":[{"until":"2026-12-31","input":0.75,"cacheRead":0.075,"output":3.75},{"input":1.5,"cacheRead":0.15,"output":7.5}]},
  }
  return { "openai": openai, "openai-responses": openai, "openai-chat": openai, "anthropic": anthropic, "google": google }
}
