// Unmodified clients of OpenAI for Node against /v1/responses and /v1/conversations. Every scene
// gives what it saw; responses_clients_test.py says what it should have seen.
//
// usage: node responses_clients.mjs FOLDER BASE_URL
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, baseURL] = process.argv.slice(2);
const require = createRequire(path.join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

const { default: OpenAI } = await load("openai");
const agents = await load("@openai/agents");
const { z } = await load("zod");
const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 2 });
agents.setDefaultOpenAIClient(client);
agents.setTracingDisabled(true);
const { Agent, run, tool } = agents;

const model = "gpt-4.1";
const behind = { openai_chat: "gpt-4.1", openai_responses: "gpt-5", anthropic: "gpt-4o" };
const weather = { type: "function", name: "get_weather", strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } } } };
const all = async (page) => { const out = []; for await (const one of page) out.push(one); return out; };
const texts = (items) => items.flatMap((item) => (item.content ?? []).map((part) => part.text));
const status = async (promise) => { try { await promise; return 200; } catch (e) { return e.status; } };
const until = async (id) => {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== "queued" && response.status !== "in_progress") return response;
    await new Promise((done) => setTimeout(done, 30));
  }
};

const scenes = {
  async answers_and_is_read_again() {
    const made = await client.responses.create({ model, input: "Hello", instructions: "Be brief." });
    const read = await client.responses.retrieve(made.id);
    return [made.output_text, read.output_text, read.instructions, made.usage.total_tokens];
  },
  async streams_through_the_stream_helper() {
    const seen = {};
    for (const [format, name] of Object.entries(behind)) {
      const stream = client.responses.stream({ model: name, input: "Hello" });
      let text = "";
      stream.on("response.output_text.delta", (event) => { text += event.delta; });
      const final = await stream.finalResponse();
      seen[format] = [text, final.output_text, final.status];
    }
    return seen;
  },
  async calls_tools_streamed_with_every_format_behind() {
    const seen = {};
    for (const [format, name] of Object.entries(behind)) {
      const first = await client.responses
        .stream({ model: name, input: "the weather?", tools: [weather] }).finalResponse();
      const call = first.output.find((item) => item.type === "function_call");
      const second = await client.responses.create({ model: name, previous_response_id: first.id,
        tools: [weather],
        input: [{ type: "function_call_output", call_id: call.call_id, output: "rain" }] });
      seen[format] = [call.name, call.arguments, second.output_text];
    }
    return seen;
  },
  async continues_and_branches() {
    const first = await client.responses.create({ model, input: "one" });
    const next = (input) => client.responses.create({ model, input, previous_response_id: first.id });
    const left = await next("left"), right = await next("right");
    return [left.output_text, right.output_text,
      texts(await all(client.responses.inputItems.list(right.id, { order: "asc", limit: 2 })))];
  },
  async answers_in_a_conversation_and_pages_its_items() {
    const conversation = await client.conversations.create({ metadata: { a: "b" } });
    for (const input of ["one", "two"])
      await client.responses.create({ model, input, conversation: conversation.id });
    const items = await all(client.conversations.items.list(conversation.id, { limit: 2, order: "asc" }));
    return [texts(items), (await client.conversations.retrieve(conversation.id)).metadata];
  },
  async adds_reads_and_deletes_items_and_conversations() {
    const { id } = await client.conversations.create({ items: [{ type: "message", role: "user", content: "a" }] });
    const added = await client.conversations.items.create(id, {
      items: [{ type: "message", role: "user", content: "b" }], include: ["message.input_image.image_url"] });
    const item = added.data[0].id;
    const read = await client.conversations.items.retrieve(item, { conversation_id: id });
    await client.conversations.items.delete(item, { conversation_id: id });
    const left = texts(await all(client.conversations.items.list(id)));
    await client.conversations.update(id, { metadata: { c: "d" } });
    const gone = await client.conversations.delete(id);
    return [texts([read]), left, gone.deleted, await status(client.conversations.retrieve(id))];
  },
  async runs_in_the_background_and_is_polled() {
    const made = await client.responses.create({ model, input: "Hello", background: true });
    return [made.status, (await until(made.id)).output_text];
  },
  async cancels_what_runs_in_the_background() {
    const made = await client.responses.create({ model, input: "slow", background: true });
    const cancelled = await client.responses.cancel(made.id);
    return [cancelled.status, (await client.responses.retrieve(made.id)).status];
  },
  async resumes_a_stream_that_was_cut() {
    const stream = await client.responses.create({ model, input: "slow", background: true, stream: true });
    let id, last, text = "";
    for await (const event of stream) {
      if (event.type === "response.created") id = event.response.id;
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event.sequence_number;
      if (last >= 8) break;
    }
    const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
    const numbers = [];
    for await (const event of rest) {
      numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    const helper = client.responses.stream({ response_id: id });
    return [text.split(" ").length, numbers[0] - last,
      numbers.every((n, i) => i === 0 || n === numbers[i - 1] + 1),
      (await helper.finalResponse()).output_text === text];
  },
  async deletes_responses() {
    const made = await client.responses.create({ model, input: "Hello" });
    await client.responses.delete(made.id);
    return await status(client.responses.retrieve(made.id));
  },
  async stores_nothing_when_told_so() {
    const made = await client.responses.create({ model, input: "Hello", store: false });
    return [made.output_text, await status(client.responses.retrieve(made.id))];
  },
  async compacts_and_goes_on_from_it() {
    const input = [{ role: "user", content: "My cat is Tom." }, { role: "assistant", content: "Noted." },
      { role: "user", content: "My dog is Rex." }, { role: "assistant", content: "Noted too." }];
    const compacted = await client.responses.compact({ model, input });
    const next = await client.responses.create({ model,
      input: [...compacted.output, { role: "user", content: "Who is Tom?" }] });
    return [compacted.object, compacted.output.map((item) => item.type), next.output_text.split(": ")[1]];
  },
  async counts_tokens() {
    return (await client.responses.inputTokens.count({ model: "gpt-4.1-mini",
      instructions: "Follow the system instructions.", input: [{ role: "user", content: "" }] })).input_tokens;
  },
  async refuses_by_name() {
    try {
      await client.responses.create({ model, input: "a", prompt: { id: "p" } });
    } catch (error) { return [error.status, error.param, error.constructor.name]; }
  },
  async retries_by_itself_and_nothing_is_said_twice() {
    const conversation = await client.conversations.create({});
    const made = await client.responses.create({ model, input: "flaky in a conversation",
      conversation: conversation.id });
    const fresh = await client.responses.create({ model, input: "flaky alone" });
    const items = await all(client.conversations.items.list(conversation.id, { order: "asc" }));
    return [made.output_text, fresh.output_text, items.length];
  },
  async keeps_encrypted_reasoning_in_its_place() {
    const ask = { model: behind.openai_responses, input: "Hello", include: ["reasoning.encrypted_content"] };
    const sealed = (response) => [response.output.map((item) => item.type), response.output[0].encrypted_content];
    const streamed = await client.responses.stream(ask).finalResponse();
    return [...sealed(await client.responses.create(ask)), ...sealed(streamed)];
  },
  async takes_structured_formats() {
    const made = await client.responses.create({ model, input: "x",
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: false } } });
    return made.text.format.name;
  },

  // ---- @openai/agents ---------------------------------------------------------------------------
  async agents_use_tools_plain_and_streamed() {
    const asked = [];
    const get_weather = tool({ name: "get_weather", description: "The weather.",
      parameters: z.object({ city: z.string() }),
      execute: async ({ city }) => { asked.push(city); return "rain"; } });
    const agent = new Agent({ name: "a", instructions: "Help.", model, tools: [get_weather] });
    const plain = await run(agent, "the weather?");
    const streamed = await run(agent, "the weather?", { stream: true });
    let text = "";
    for await (const piece of streamed.toTextStream()) text += piece;
    await streamed.completed;
    return [plain.finalOutput, streamed.finalOutput, text, asked];
  },
  async agents_continue_by_response_and_by_conversation() {
    const agent = new Agent({ name: "a", model });
    const first = await run(agent, "one");
    const second = await run(agent, "two", { previousResponseId: first.lastResponseId });
    const { id } = await client.conversations.create({});
    await run(agent, "uno", { conversationId: id });
    const other = await run(agent, "due", { conversationId: id });
    return [second.finalOutput, other.finalOutput];
  },
  async agents_keep_a_conversations_session() {
    const session = new agents.OpenAIConversationsSession({ client });
    const agent = new Agent({ name: "a", model });
    await run(agent, "one", { session });
    const second = await run(agent, "two", { session });
    const items = await session.getItems();
    const popped = await session.popItem();
    const left = await session.getItems();
    const last = await session.getItems(1);
    const id = await session.getSessionId();
    await session.clearSession();
    return [second.finalOutput, items.length, popped.role, left.length, last[0].role,
      await status(client.conversations.retrieve(id))];
  },
  async agents_keep_a_memory_session() {
    const session = new agents.MemorySession();
    const agent = new Agent({ name: "a", model });
    await run(agent, "one", { session });
    return (await run(agent, "two", { session })).finalOutput;
  },
  async agents_compact_a_session() {
    const seen = [];
    for (const compactionMode of ["previous_response_id", "input"]) {
      const session = new agents.OpenAIResponsesCompactionSession({ client, model, compactionMode,
        underlyingSession: new agents.MemorySession() });
      const agent = new Agent({ name: "a", model });
      await run(agent, "My cat is Tom.", { session });
      await run(agent, "My dog is Rex.", { session });
      await session.runCompaction({ force: true });
      const items = await session.getItems();
      const next = await run(agent, "Who is Tom?", { session });
      seen.push([items.map((item) => item.type ?? item.role), next.finalOutput.split(": ")[1]]);
    }
    return seen;
  },
};

const seen = {};
for (const [name, scene] of Object.entries(scenes)) {
  try {
    seen[name] = { seen: await scene() };
  } catch (error) {
    seen[name] = { error: String(error?.stack ?? error).slice(0, 1500) };
  }
}
console.log(JSON.stringify(seen));
process.exit(0);
