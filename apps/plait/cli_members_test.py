#!/usr/bin/env python3
"""Several devices as one on the command line: equal results, what is said at the start, plans, and what is refused.

usage: cli_members_test.py PLAIT [unittest's arguments]
"""
import json
import os
import re

from cli_support import CliTest, greedy_of, main, MODEL, NO_TOKENIZER, run_flags, synth, WORK

SPREADS = ("--devices cpu*2", "--devices cpu*3", "--devices cpu*3 -ts 1,0,2", "--devices sim*2", "--devices cpu,sim",
           "--devices cpu*3 --reduce direct", "--devices cpu*3 --reduce pairwise --embd hidden",
           "--devices cpu*2 --embd vocab", "--devices cpu*2 -sm row --main-device 1",
           "--devices cpu,sim -sm row -ts 1,2", "--devices cpu*2,sim -sm none --main-device 2")


def described(*members):
    path = WORK / "members.json"
    path.write_text(json.dumps(members))
    return path


class MembersTest(CliTest):
    def greedy(self, *flags):
        return json.loads(self.done(*greedy_of("--exact", *flags)).out)["greedy"]

    def test_any_number_of_members_says_the_same(self):
        expected = self.greedy()
        for flags in SPREADS:
            self.assertEqual(self.greedy(*flags.split()), expected, flags)

    def test_a_line_per_member_and_one_for_the_mode(self):
        commands = (run_flags(), greedy_of(), ("bench", "-m", MODEL, "-p", 4, "-n", 2, "-r", 1))
        for command in commands:
            lines = self.done(*command, "--devices", "cpu*2,sim", "-ts", "2,1,1").err.splitlines()
            for line, begins, share in zip(lines, ("cpu0: ", "cpu1: ", "sim: "), ("50.0 %", "25.0 %", "25.0 %")):
                self.assertTrue(line.startswith(begins), lines)
                for text in (share + " of the model", "MiB weights", "mirrored", "MiB cache", "MiB compute"):
                    self.assertIn(text, line)
            self.assertIn("tensor mode over 3 members (the default for several devices), shares as asked", lines[3])
            self.assertIn("sums by butterfly in 3 rounds (the default)", lines[3])
        told = self.done(*run_flags("--devices", "cpu*2", "-sm", "tensor", "--reduce", "direct")).err
        self.assertIn("tensor mode over 2 members (-sm tensor), equal shares", told)
        self.assertIn("sums by direct in 1 round (--reduce)", told)
        told = self.done(*run_flags("--devices", "cpu*2", "-sm", "row", "--main-device", 1)).err
        self.assertIn("row mode over 2 members (-sm row, for comparison), cpu1 does all but products, equal shares", told)
        told = self.done(*run_flags("--devices", "cpu*2", "-sm", "none")).err
        self.assertIn("one device (-sm none): nothing to split", told)

    def test_bench_says_where_members_spend_their_steps(self):
        for flags in (("--devices", "cpu*2"), ("--devices", "cpu*2", "--reduce", "pairwise"),
                      ("--devices", "cpu,sim")):
            result = json.loads(self.done("bench", "-m", MODEL, "-p", 8, "-n", 2, "-r", 1, "--json", *flags).out)
            self.assertEqual(len(result["members"]), 2)
            for what in ("prompt", "generation"):
                steps = [member[what] for member in result["members"]]
                self.assertEqual([step["steps"] for step in steps], [1, 1] if what == "prompt" else [2, 2])
                for step in steps:
                    self.assertGreater(step["compute_us"], 0)
                    self.assertGreater(step["reduce_us"], 0)
                    self.assertGreaterEqual(step["wait_us"], 0)
                lengths = [step["compute_us"] + step["reduce_us"] + step["wait_us"] for step in steps]
                self.assertAlmostEqual(lengths[0], lengths[1], places=3)
        text = self.done("bench", "-m", MODEL, "-p", 0, "-n", 2, "-r", 1, "--devices", "cpu*2").text
        self.assertRegex(text, r"generation steps of .* us\n  cpu0 +compute .*, reduce .*, wait .*\n  cpu1 +compute")

    def test_warnings(self):
        self.assertIn("warning: cpu1 has a share of nothing",
                      self.done(*run_flags("--devices", "cpu*2", "-ts", "1,0")).err)
        told = self.done(*greedy_of("--devices", "cpu*5", model=NO_TOKENIZER, ids="1,2")).err
        self.assertIn("warning: cpu0 has no query heads in layer 0", told)
        self.assertNotIn("warning", self.done(*run_flags("--devices", "cpu*2", "-t", 2)).err)
        # The main member of row mode does everything but products.
        self.assertNotIn("warning", self.done(*run_flags("--devices", "cpu*2", "-sm", "row", "-ts", "0,1")).err)

    def test_what_is_refused_at_the_start(self):
        two = ("--devices", "cpu*2")
        self.misused("layers cannot be dealt to devices yet", *run_flags(*two, "-sm", "layer"))
        self.misused("--exchange bf16", *run_flags(*two, "--exchange", "bf16"))
        self.misused("-ts: expected a share for each device, 2 in all, found 3", *run_flags(*two, "-ts", "1,1,1"))
        self.misused("-ts: expected a share for each device, 1 in all, found 2", *run_flags("-ts", "1,1"))
        self.misused("all zero", *run_flags(*two, "-ts", "0,0"))
        self.misused("expected one of the devices 0 to 1, found 2", *run_flags(*two, "--main-device", 2))
        for devices in ("cpu*0", "cpu*", "cpu*x", "cpu*257", "cpu:0*2", "cpu,", ",cpu", "cpu*2*2", "cpu:99999", "cpu:1-0", "cpu:",
                        "cpu:numa*2", "cpu:numa,cpu", "numa", ""):
            self.misused("--devices", *run_flags("--devices", devices))
        self.fails("sim0:1M: the model needs", *run_flags("--devices", "sim:1M,sim:1M"))

    def test_shares_follow_the_memory_where_equal_ones_do_not_fit(self):
        path = synth("uneven.gguf", size="layers=2,width=512,heads=8,kv_heads=8,ffn=4096,vocab=512,ctx=256")
        flags = ("--devices", "sim:12M,sim:200M", "-ub", 32)
        told = self.done(*greedy_of(*flags, model=path))
        self.assertIn("shares by free memory, since equal ones do not fit", told.err)
        self.fails("sim:12M: the model needs", *greedy_of(*flags, "-ts", "1,1", model=path))
        told = self.done(*greedy_of(*flags, "-ts", "auto", model=path)).err
        self.assertIn("shares by measured speed as far as the free memory goes", told)
        self.assertIn("the free memory allows no other shares", told)


    def test_shares_by_speed(self):
        flags = ("--devices", "cpu*2", "-t", 2, "--temp", 0)
        equal, auto = self.done(*run_flags(*flags)), self.done(*run_flags(*flags, "-ts", "auto"))
        self.assertIn("equal shares, by measured speed", auto.err)
        self.assertEqual(auto.out, equal.out)
        self.assertNotIn("warning", auto.err)
        unlike = self.done(*run_flags("--devices", "cpu,sim", "-ts", "auto")).err
        shares = re.search(r"shares by measured speed \(-ts (100,[0-9.]+)\)", unlike)
        self.assertTrue(shares, unlike)
        self.assertLess(float(shares[1].split(",")[1]), 50, "reference kernels are slow")
        self.assertNotIn("sets the pace", unlike)
        self.done(*run_flags("--devices", "cpu,sim", "-ts", shares[1]))
        for name, model in (("one", "cpu"), ("none", "cpu,sim -sm none")):
            told = self.done(*run_flags("--devices", *model.split(), "-ts", "auto")).err
            self.assertIn("nothing to split", told, name)
        path = described({"kind": "cpu", "memory_bytes": "1G"}, {"kind": "sim", "memory_bytes": "1G"})
        self.assertIn("devices that are not here cannot be measured",
                      self.done("plan", "-m", MODEL, "--members", path, "-ts", "auto").text)

    def test_who_sets_the_pace(self):
        uneven = ("--devices", "cpu*2", "-t", 3)
        self.assertIn("warning: cpu1 sets the pace: its 50.0 % of the model (by its threads) take it about 2.0 times as "
                      "long as cpu0 takes for 50.0 %; -ts 100,50 would be even", self.done(*run_flags(*uneven)).err)
        self.assertNotIn("warning", self.done(*run_flags(*uneven, "-ts", "100,50")).err)
        self.assertIn("cpu0 sets the pace: its 75.0 %",
                      self.done(*run_flags("--devices", "cpu*2", "-t", 2, "-ts", "3,1")).err)
        self.assertNotIn("warning", self.done(*run_flags("--devices", "cpu,sim")).err)

    def test_numa_nodes(self):
        # hwloc takes this machine for another one; nothing is bound there.
        def on(machine):
            return {"env": {**os.environ, "HWLOC_SYNTHETIC": machine}}

        two = on("numa:2 core:1 pu:1")
        told = self.done(*run_flags("--devices", "cpu:numa", "-ts", "3,1", "--temp", 0), **two)
        self.assertIn("tensor mode over 2 members", told.err)
        for name in ("cpu:node0: ", "cpu:node1: "):
            self.assertIn(name, told.err)
        self.assertEqual(told.out, self.done(*run_flags("--devices", "cpu*2", "-ts", "3,1", "--temp", 0)).out)
        listed = json.loads(self.done("devices", "--devices", "cpu:numa", "--json", **two).out)
        self.assertEqual([(device["device"], device["memory"], device["node"], device["cores"])
                          for device in listed["devices"]],
                         [("cpu:node0", "node0", 0, "0"), ("cpu:node1", "node1", 1, "1")])
        (WORK / "nodes.json").write_text(json.dumps(listed))
        plans = [json.loads(self.done("plan", "-m", MODEL, "--json", *flags, **two).out)
                 for flags in (("--devices", "cpu:numa"), ("--members", WORK / "nodes.json"))]
        for plan in plans:
            for member in plan["members"]:
                self.assertEqual(member["mapped_bytes"], 0)
                del member["free_bytes"]
        self.assertEqual(*plans)
        self.assertIn(", cores 1, ", self.done("devices", "--devices", "cpu:numa", **two).text)
        self.assertIn("MiB of NUMA node 1 free", self.done("devices", "--devices", "cpu:numa", **two).text)
        told = self.done(*run_flags("--devices", "cpu:numa"), **on("numa:1 core:2 pu:1")).err
        self.assertIn("one NUMA node, which is one member, as cpu is", told)
        self.assertIn("one device: nothing to split", told)
        self.misused("-ts: expected a share for each device, 2 in all, found 3",
                     *run_flags("--devices", "cpu:numa", "-ts", "1,1,1"), **two)

    def test_the_default_context_leaves_room_for_everything(self):
        path = synth("roomy.gguf", size="layers=12,width=256,heads=8,kv_heads=4,ffn=512,vocab=500,ctx=4096", kind="Q8_0")
        contexts = []
        for devices in ("sim:12M", "sim:14M", "sim:24M", "sim:60M,sim:8M"):
            plan = json.loads(self.done("plan", "-m", path, "--json", "--devices", devices).out)
            self.assertTrue(all(member["fits"] for member in plan["members"]), devices)
            contexts.append(plan["context"])
            self.done("run", "-m", path, "-p", "hi", "-n", 2, "--devices", devices)
        self.assertEqual(contexts[:3], sorted(contexts[:3]), "more memory, more context")


class PlanTest(CliTest):
    def plan(self, *flags, model=MODEL):
        return json.loads(self.done("plan", "-m", model, "--json", *flags).out)

    def test_collectives(self):
        plan = self.plan("--devices", "cpu*3")
        self.assertEqual([member["device"] for member in plan["members"]], ["cpu0", "cpu1", "cpu2"])
        layers = json.loads(self.done("inspect", "-m", MODEL, "--json").out)["plait"]["layers"]
        width = json.loads(self.done("inspect", "-m", MODEL, "--json").out)["plait"]["width"]
        self.assertEqual(plan["collectives_per_step"], 2 * layers + 1)
        *sums, merge = plan["collectives"]
        self.assertEqual((merge["kind"], merge["after"], merge["way"]), ("merge_candidates", "output", "host"))
        self.assertEqual(merge["link_bytes"], merge["bytes"])
        self.assertEqual(plan["collective_bytes_per_token"], 2 * layers * width * 4 + merge["bytes"])
        fewer = self.plan("--devices", "cpu*3", "--candidates", 8)["collectives"][-1]
        self.assertEqual(merge["bytes"] - fewer["bytes"], 8 * (256 - 8), "an id and a logit for each")
        for collective in sums:
            self.assertEqual((collective["kind"], collective["bytes"]), ("all_reduce", width * 4))
            self.assertEqual(collective["link_bytes"], 2 * width * 4, "one term more than between 2")
        direct = self.plan("--devices", "cpu*3", "--reduce", "direct")
        self.assertEqual(direct["collectives"][0]["link_bytes"], 2 * width * 4)
        self.assertEqual(self.plan("--devices", "cpu*3", "--embd", "vocab")["collectives_per_step"], 2 * layers + 2)

    def test_text(self):
        text = self.done("plan", "-m", MODEL, "--devices", "cpu*3").text
        for says in ("tensor mode over 3 members, equal shares", "cpu2", "all_reduce", "a token decoded", "layer mode"):
            self.assertIn(says, text)

    def test_row_mode(self):
        tensor, row = self.plan("--devices", "cpu*2"), self.plan("--devices", "cpu*2", "-sm", "row")
        self.assertEqual({collective["kind"] for collective in row["collectives"]}, {"broadcast", "all_gather"})
        self.assertGreater(row["collectives_per_step"], 3 * tensor["collectives_per_step"])
        self.assertEqual(row["members"][1]["kv_bytes"], 0, "the cache stays on the main member")
        self.assertEqual([member["mirrored_bytes"] for member in row["members"]], [0, 0])

    def test_budgets_by_member(self):
        self.done("plan", "-m", MODEL, "--devices", "cpu*2", "--budget", "1G,1G")
        self.fails("cpu1 would take", "plan", "-m", MODEL, "--devices", "cpu*2", "--budget", "1G,1K")
        self.misused("--budget: expected a size for each member, 2 in all, found 1", "plan", "-m", MODEL, "--devices", "cpu*2", "--budget", "1G")

    def test_described_members_get_the_plan_of_real_ones(self):
        devices = "cpu*2,sim:1G"
        here = json.loads(self.done("devices", "--devices", devices, "--json").out)
        (WORK / "here.json").write_text(json.dumps(here))
        real, same = self.plan("--devices", devices), self.plan("--members", WORK / "here.json")
        for plan in (real, same):
            for member in plan["members"]:
                del member["free_bytes"]  # other processes come and go
        self.assertEqual(real, same)

    def test_members_that_are_not_here(self):
        members = [{"kind": "cuda", "like": "sim", "name": f"gpu{i}", "memory_bytes": "80G"} for i in range(8)]
        plan = self.plan("--members", described(*members))
        self.assertEqual([member["device"] for member in plan["members"]], [f"gpu{i}" for i in range(8)])
        self.assertTrue(all(member["fits"] for member in plan["members"]))
        small = self.plan("--members", described({"kind": "cpu", "memory_bytes": "1K", "threads": 64}))
        self.assertFalse(small["members"][0]["fits"])
        one = self.plan("--members", described(*members), "-sm", "none", "--main-device", 5)
        self.assertEqual([member["device"] for member in one["members"]], ["gpu5"])

    def test_members_that_are_no_list_of_devices(self):
        path = described({"kind": "cuda", "memory_bytes": 1})
        self.fails(["members.json: member 0", "known are cpu, sim"], "plan", "-m", MODEL, "--members", path)
        path.write_text("no json")
        self.fails("members.json: expected JSON", "plan", "-m", MODEL, "--members", path)
        self.fails("No such file", "plan", "-m", MODEL, "--members", WORK / "missing.json")
        self.misused("--devices", "plan", "-m", MODEL, "--members", path, "--devices", "cpu")
        self.fails("No such file", "plan", "-m", MODEL, "--members", "")

    def test_devices_lists_those_asked_for(self):
        listed = json.loads(self.done("devices", "--devices", "cpu*2,sim:1G", "--json").out)["devices"]
        self.assertEqual([device["device"] for device in listed], ["cpu0", "cpu1", "sim:1G"])
        self.assertEqual([device["memory"] for device in listed], ["host", "host", "sim:1G"])
        self.misused("--devices", "devices", "--devices", "gpu")


if __name__ == "__main__":
    main()
