// Scenarios of compaction: text files, one behaviour each. A file says a conversation, a policy and
// what must come out.
//
//     policy JSON or the name of a preset        window N  reply N  system N  tools N
//     format openai_chat|anthropic|openai_responses
//     user|answer|system TEXT                     {N words} stands for so many words
//     call ID NAME ARGUMENTS                      calls without an answer between are parallel
//     result ID TEXT   error ID TEXT              think TEXT: before the next answer or call
//     image   item JSON                           raw JSON of a message or item
//     pin SEQ          at SECONDS                 time of what follows
//     now SECONDS      usage N   overflow   explicit   stalled N TOKENS LEVEL TRIGGER
//     prices cached N fresh N
//  then what is expected
//     outcome NAME     trigger NAME   level NAME  refused FIELD
//     view A B-C s1-3 c5 h7                       verbatim, summary, cleared, shortened
//     text SEQ TEXT    lacks SEQ TEXT             the item's text holds it, or does not
//     equals SEQ TEXT  used <= N                  summaries N
//
// Tokens are words here. Checked after every scenario: pairs whole, sendable, nothing more to do.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/plan.h"
#include "palimpsest/tokenizer.h"

namespace palimpsest {

struct Expectation {
    int line = 0;
    std::string word, rest;
};

struct Scenario {
    std::string policy = "none";
    FormatId format = FormatId::openai_chat;
    std::vector<Item> items = {};
    Occasion occasion = {};
    std::vector<Expectation> expected = {};
    std::string fault = {};  // what could not be read
};

// Words, by white space. Serves all threads.
const Tokenizer& word_tokenizer();
const MessageTools& word_tools();

Scenario read_scenario(const std::string& text);
// What went wrong, one line each; empty: all as expected.
std::string check_scenario(const Scenario& scenario);

}  // namespace palimpsest
