// Unmodified clients for Node against /v1/chat/completions, /v1/messages, /v1/models and
// /v1/embeddings. Every scene gives what it saw; gateway_clients_test.py says what it should have.
//
// usage: node gateway_clients.mjs FOLDER BASE_URL
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { responses_scenes } from "./gateway_responses.mjs";

const [folder, baseURL] = process.argv.slice(2);
const require = createRequire(path.join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const root = baseURL.replace(/\/v1$/, "");

const { default: OpenAI } = await load("openai");
const { default: Anthropic } = await load("@anthropic-ai/sdk");
const { generateText, streamText, tool, stepCountIs, generateObject } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { ChatOpenAI } = await load("@langchain/openai");
const { HumanMessage, AIMessage } = await load("@langchain/core/messages");
const { z } = await load("zod");

const behind = { openai_chat: "gpt-4.1", openai_responses: "gpt-5", anthropic: "gpt-4o" };
const model = behind.openai_chat;
const inside = (id) => ({ "X-Conversation-Id": id });
const openai = (id) => new OpenAI({ baseURL, apiKey: "any", maxRetries: 2,
  defaultHeaders: id ? inside(id) : {} });
const anthropic = (id) => new Anthropic({ baseURL: root, apiKey: "any", maxRetries: 2,
  defaultHeaders: id ? inside(id) : {} });
const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
const with_each = async (see) => {
  const seen = {};
  for (const [format, name] of Object.entries(behind)) seen[format] = await see(name, format);
  return seen;
};
const all = async (page) => { const out = []; for await (const one of page) out.push(one); return out; };
const fault = async (promise) => {
  try { await promise; return "none"; } catch (e) { return [e.constructor.name, e.status]; }
};
// What the log has, as role and text.
const log = async (id) => {
  const rows = await (await fetch(`${root}/api/v1/conversations/${id}/messages`)).json();
  const text = (content) => typeof content === "string" ? content
    : (content ?? []).map((part) => part.text ?? "").join("");
  return rows.data.map((row) => `${row.message.role ?? row.message.type}: ${text(row.message.content)}`);
};
const weather = { name: "get_weather", description: "the weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };

const scenes = {
  // ---- openai ----------------------------------------------------------------------------------
  openai_answers: () => with_each(async (name) => {
    const made = await openai().chat.completions.create({ model: name, messages: [user("Hello")] });
    return [made.choices[0].message.content, made.choices[0].finish_reason, made.usage.total_tokens];
  }),
  openai_streams: () => with_each(async (name) => {
    const stream = await openai().chat.completions.create({ model: name, messages: [user("Hello")],
      stream: true, stream_options: { include_usage: true } });
    let text = "", end, usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      end = chunk.choices[0]?.finish_reason ?? end;
      usage = chunk.usage?.total_tokens ?? usage;
    }
    return [text, end, usage];
  }),
  openai_stream_helper: () => with_each(async (name) => {
    const runner = openai().chat.completions.stream({ model: name, messages: [user("Hello")] });
    return (await runner.finalChatCompletion()).choices[0].message.content;
  }),
  openai_runs_tools_in_a_conversation: () => with_each(async (name, format) => {
    const tools = [{ type: "function", function: { ...weather, parse: JSON.parse,
      function: ({ city }) => `rain in ${city}` } }];
    const id = `tools-${format}`;
    const made = await openai(id).chat.completions.runTools({ model: name, tools,
      messages: [user("the weather?")] }).finalContent();
    return [made, (await log(id)).length];
  }),
  openai_streams_tools: () => with_each(async (name) => {
    const made = await openai().chat.completions.stream({ model: name,
      tools: [{ type: "function", function: weather }], messages: [user("the weather?")] })
      .finalChatCompletion();
    const { name: called, arguments: given } = made.choices[0].message.tool_calls[0].function;
    return [called, given, made.choices[0].finish_reason];
  }),
  async openai_sends_what_is_new() {
    const client = openai("new-only");
    const said = [];
    for (const text of ["one", "two", "three"])
      said.push((await client.chat.completions.create({ model, messages: [user(text)] }))
        .choices[0].message.content);
    return said;
  },
  openai_sends_its_whole_history: () => with_each(async (name, format) => {
    const client = openai(`whole-${format}`), history = [{ role: "system", content: "Be brief." }];
    for (const text of ["one", "two", "three"]) {
      history.push(user(text));
      const made = await client.chat.completions.create({ model: name, messages: history });
      history.push(made.choices[0].message);
    }
    return [history.at(-1).content, (await log(`whole-${format}`)).length];
  }),
  async openai_edits_its_past() {
    const client = openai("edited");
    const ask = async (...messages) => (await client.chat.completions.create({ model, messages }))
      .choices[0].message.content;
    const first = await ask(user("one"));
    await ask(user("one"), assistant(first), user("two"));
    const other = await ask(user("one"), assistant(first), user("another two"));
    const view = await (await fetch(`${root}/api/v1/conversations/edited/view`)).json();
    return [other, view.items.length, (await log("edited")).length];
  },
  async openai_names_the_conversation_in_the_body() {
    const ask = (text) => openai().chat.completions.create(
      { model, messages: [user(text)], conversation: "by-body" });
    await ask("one");
    return (await ask("two")).choices[0].message.content;
  },
  async openai_retries_and_nothing_is_said_twice() {
    const client = openai("retried");
    const made = await client.chat.completions.create({ model, messages: [user("flaky chat")] });
    const stream = await client.chat.completions.create({ model, stream: true,
      messages: [user("flaky stream")] });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    return [made.choices[0].message.content, text, (await log("retried")).length];
  },
  async openai_joins_a_turn_that_runs() {
    // The first attempt is given up by its time-out; the second one waits for the same answer.
    const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 3, timeout: 300,
      defaultHeaders: inside("joined") });
    const made = await client.chat.completions.create({ model, messages: [user("late joined")] },
      { timeout: 500 });
    return [made.choices[0].message.content, (await log("joined")).length];
  },
  async openai_leaves_a_stream() {
    const stream = await openai("left").chat.completions.create({ model, stream: true,
      messages: [user("slow")] });
    let pieces = 0;
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content && ++pieces === 3) break;
    stream.controller.abort();
    for (let i = 0; i < 100 && (await log("left")).length < 2; ++i)
      await new Promise((done) => setTimeout(done, 50));
    const kept = (await log("left"))[1] ?? "";
    return [kept.startsWith("assistant: word word word"), kept.split(" ").length < 30];
  },
  async openai_takes_structured_output() {
    const { zodResponseFormat } = await load("openai/helpers/zod");
    const shape = zodResponseFormat(z.object({ n: z.number() }), "answer");
    const made = await openai().chat.completions.parse({ model, messages: [user("give json")],
      response_format: shape });
    return made.choices[0].message.parsed;
  },
  async openai_keeps_completions() {
    const { completions } = openai().chat;
    const made = await completions.create({ model, messages: [user("kept")], store: true,
      metadata: { topic: "a" } });
    const stream = completions.stream({ model, messages: [user("kept too")], store: true });
    const second = await stream.finalChatCompletion();
    const listed = await all(completions.list({ limit: 1 }));
    const found = await all(completions.list({ metadata: { topic: "a" } }));
    const read = await completions.retrieve(second.id);
    const changed = await completions.update(made.id, { metadata: { topic: "b" } });
    const asked = await all(completions.messages.list(made.id));
    const gone = await completions.delete(made.id);
    return [listed.map((one) => one.id === made.id || one.id === second.id), found.length,
      read.choices[0].message.content, changed.metadata, asked.map((one) => one.content),
      gone.deleted, await fault(completions.retrieve(made.id))];
  },
  async openai_lists_models_and_embeds() {
    const names = (await all(openai().models.list())).map((one) => one.id).sort();
    const one = await openai().models.retrieve(model);
    const made = await openai().embeddings.create({ model, input: "x", encoding_format: "float" });
    return [names, one.id, made.data[0].embedding, await fault(
      openai().embeddings.create({ model: behind.anthropic, input: "x" }))];
  },
  async openai_is_told_what_is_wrong() {
    const { completions } = openai().chat;
    return [await fault(completions.create({ model: "gpt-9", messages: [user("x")] })),
      await fault(completions.create({ model, messages: [] })),
      await fault(completions.create({ model: behind.anthropic, messages: [user("x")], n: 2 }))];
  },

  // ---- anthropic -------------------------------------------------------------------------------
  anthropic_answers: () => with_each(async (name) => {
    const made = await anthropic().messages.create({ model: name, max_tokens: 50,
      system: "Be brief.", messages: [user("Hello")] });
    return [made.content[0].text, made.stop_reason, made.usage.output_tokens];
  }),
  anthropic_streams: () => with_each(async (name) => {
    const stream = anthropic().messages.stream({ model: name, max_tokens: 50,
      messages: [user("Hello")] });
    let text = "";
    stream.on("text", (piece) => { text += piece; });
    const made = await stream.finalMessage();
    return [text, made.content[0].text, made.stop_reason, made.usage.output_tokens];
  }),
  anthropic_uses_tools_in_a_conversation: () => with_each(async (name, format) => {
    const client = anthropic(`claude-tools-${format}`);
    const tools = [{ name: weather.name, input_schema: weather.parameters }];
    const messages = [user("the weather?")];
    const first = await client.messages.stream({ model: name, max_tokens: 50, tools, messages })
      .finalMessage();
    const use = first.content.find((block) => block.type === "tool_use");
    messages.push({ role: "assistant", content: first.content }, user(
      [{ type: "tool_result", tool_use_id: use.id, content: `rain in ${use.input.city}` }]));
    const second = await client.messages.create({ model: name, max_tokens: 50, tools, messages });
    return [first.stop_reason, second.content[0].text,
      (await log(`claude-tools-${format}`)).length];
  }),
  async anthropic_sends_what_is_new_and_its_whole_history() {
    const client = anthropic("claude");
    const ask = async (...messages) => (await client.messages.create(
      { model, max_tokens: 50, messages })).content;
    const first = await ask(user("one"));
    const second = await ask(user("two"));
    const third = await ask(user("one"), assistant(first), user("two"), assistant(second),
      user("three"));
    return [third[0].text, (await log("claude")).length];
  },
  anthropic_edits_its_context: () => with_each(async (name, format) => {
    const use = (id) => assistant([{ type: "tool_use", id, name: "look", input: {} }]);
    const result = (id) => user([{ type: "tool_result", tool_use_id: id, content: "x".repeat(500) }]);
    const messages = [user("go"), use("t1"), result("t1"), use("t2"), result("t2"), use("t3"),
      result("t3"), user("and?")];
    const edit = { type: "clear_tool_uses_20250919", trigger: { type: "tool_uses", value: 2 },
      keep: { type: "tool_uses", value: 1 } };
    const ask = async (client) => (await client.beta.messages.create({ model: name, max_tokens: 50,
      betas: ["context-management-2025-06-27"], messages, context_management: { edits: [edit] } }))
      .context_management.applied_edits.map((one) => [one.type, one.cleared_tool_uses]);
    return [await ask(anthropic()), await ask(anthropic(`edited-${format}`))];
  }),
  async anthropic_counts_tokens_and_lists_models() {
    const counted = await anthropic().messages.countTokens({ model, messages: [user("Hello")] });
    const names = (await all(anthropic().models.list())).map((one) => one.id).sort();
    return [counted.input_tokens > 0, names, (await anthropic().models.retrieve(model)).id];
  },
  // It begins with a thread, which is kept nowhere here, and goes on with its whole history.
  anthropic_runs_tools_by_itself: () => with_each(async (name, format) => {
    const { betaZodTool } = await load("@anthropic-ai/sdk/helpers/beta/zod");
    const tools = [betaZodTool({ name: weather.name, description: "the weather",
      inputSchema: z.object({ city: z.string() }), run: async ({ city }) => `rain in ${city}` })];
    const ask = async (client) => (await client.beta.messages.toolRunner({ model: name,
      max_tokens: 50, tools, messages: [user("the weather?")] }).runUntilDone()).content[0].text;
    return [await ask(anthropic()), await ask(anthropic(`runner-${format}`)),
      (await log(`runner-${format}`)).length];
  }),
  async anthropic_is_told_that_there_are_no_threads() {
    const thread = anthropic().beta.messages.thread({ model, max_tokens: 50 });
    return await fault(thread.send(user("Hello")));
  },
  async anthropic_is_told_what_is_wrong() {
    const create = (fields) => anthropic().messages.create(
      { model, max_tokens: 50, messages: [user("x")], ...fields });
    const type = async (promise) => {
      try { await promise; } catch (e) { return [e.constructor.name, e.error.error.type]; }
    };
    return [await type(create({ model: "claude-9" })), await type(create({ messages: [] })),
      await type(create({ context_management: { edits: [{ type: "shrink" }] } }))];
  },
  async anthropic_retries_and_nothing_is_said_twice() {
    const made = await anthropic("claude-retried").messages.create({ model, max_tokens: 50,
      messages: [user("flaky message")] });
    return [made.content[0].text, (await log("claude-retried")).length];
  },

  // ---- Vercel's ai -----------------------------------------------------------------------------
  vercel_answers_and_streams: () => with_each(async (name) => {
    const seen = [];
    for (const chosen of [createOpenAI({ baseURL, apiKey: "any" }).chat(name),
      createOpenAICompatible({ name: "pal", baseURL, includeUsage: true })(name)]) {
      const plain = await generateText({ model: chosen, prompt: "Hello" });
      const streamed = streamText({ model: chosen, prompt: "Hello" });
      let text = "";
      for await (const piece of streamed.textStream) text += piece;
      seen.push(plain.text, text, await streamed.finishReason, (await streamed.usage).totalTokens);
    }
    return seen;
  }),
  async vercel_uses_tools_in_a_conversation() {
    const provider = createOpenAI({ baseURL, apiKey: "any", headers: inside("vercel") });
    const tools = { get_weather: tool({ description: "the weather",
      inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `rain in ${city}` }) };
    const made = await generateText({ model: provider.chat(model), tools, prompt: "the weather?",
      stopWhen: stepCountIs(3) });
    return [made.text, made.steps.length, (await log("vercel")).length];
  },
  async vercel_makes_objects() {
    const provider = createOpenAICompatible({ name: "pal", baseURL, supportsStructuredOutputs: true });
    return (await generateObject({ model: provider(model), prompt: "give json",
      schema: z.object({ n: z.number() }) })).object;
  },

  // ---- LangChain -------------------------------------------------------------------------------
  langchain_answers_and_streams: () => with_each(async (name) => {
    const chat = new ChatOpenAI({ model: name, apiKey: "any", configuration: { baseURL } });
    let text = "";
    for await (const chunk of await chat.stream("Hello")) text += chunk.content;
    return [(await chat.invoke("Hello")).content, text];
  }),
  async langchain_talks_in_a_conversation() {
    const chat = new ChatOpenAI({ model, apiKey: "any",
      configuration: { baseURL, defaultHeaders: inside("chain") } });
    const first = await chat.invoke([new HumanMessage("one")]);
    const second = await chat.invoke([new HumanMessage("one"), new AIMessage(first.content),
      new HumanMessage("two")]);
    return [second.content, (await log("chain")).length];
  },
  async langchain_calls_tools() {
    const chat = new ChatOpenAI({ model, apiKey: "any", configuration: { baseURL } })
      .bindTools([{ type: "function", function: weather }]);
    const made = await chat.invoke("the weather?");
    return made.tool_calls.map((call) => [call.name, call.args]);
  },
};

Object.assign(scenes, responses_scenes({ OpenAI, createOpenAI, ai: await load("ai"), ChatOpenAI,
  messages: await load("@langchain/core/messages"), z, behind, baseURL }));

const seen = {};
await Promise.all(Object.entries(scenes).map(async ([name, scene]) => {
  try { seen[name] = { seen: await scene() }; } catch (e) { seen[name] = { error: e.stack ?? String(e) }; }
}));
console.log(JSON.stringify(seen));
process.exit(0);
