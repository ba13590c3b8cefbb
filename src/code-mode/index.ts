/** `toolloop/code-mode`: lets a model write scripts that call tools. Experimental: it may change in any release. */
export { type CodeModeOptions, codeMode, type ScriptLimits } from './code-mode.ts'
