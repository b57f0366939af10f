"""The LLVM text of the pool of workers: what a worker does, and how a job is handed out."""

from __future__ import annotations

SYSCALL = {"x86_64": 202, "aarch64": 98}

PAUSE = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": "@llvm.aarch64.isb(i32 15)"}

TEXT = """
declare i64 {syscall}(i64, ...)
declare i32 {getcpu}()
declare i32 {clock}(i32, ptr)
declare void {pause_name}
{pool} = external global [512 x i8]

define i64 @adjoint.now() {{
  %time = alloca [2 x i64], align 8
  %r = call i32 {clock}(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define i1 @adjoint.part(i64 %who) {{
  %next = getelementptr i8, ptr {pool}, i64 128
  %seen = load atomic i64, ptr %next monotonic, align 8
  %some = icmp sgt i64 %seen, 0
  br i1 %some, label %claim, label %none
claim:
  %left = atomicrmw sub ptr %next, i64 1 acq_rel
  %mine = icmp sgt i64 %left, 0
  br i1 %mine, label %run, label %none
run:
  %function.at = getelementptr i8, ptr {pool}, i64 272
  %function = load ptr, ptr %function.at
  %block.at = getelementptr i8, ptr {pool}, i64 280
  %block = load ptr, ptr %block.at
  %parts.at = getelementptr i8, ptr {pool}, i64 288
  %parts = load ptr, ptr %parts.at
  %count.at = getelementptr i8, ptr {pool}, i64 296
  %count = load i64, ptr %count.at
  %i = sub i64 %count, %left
  %numbers.at = getelementptr ptr, ptr %parts, i64 %i
  %numbers = load ptr, ptr %numbers.at
  %log.at = getelementptr i8, ptr {pool}, i64 304
  %log = load atomic ptr, ptr %log.at monotonic, align 8
  %logs = icmp ne ptr %log, null
  br i1 %logs, label %timed, label %plain
plain:
  call void %function(ptr %block, ptr %numbers)
  br label %counted
timed:
  %begun = call i64 @adjoint.now()
  call void %function(ptr %block, ptr %numbers)
  %over = call i64 @adjoint.now()
  %entries = getelementptr i8, ptr {pool}, i64 312
  %k = atomicrmw add ptr %entries, i64 1 monotonic
  %room.at = getelementptr i8, ptr {pool}, i64 320
  %room = load i64, ptr %room.at
  %fits = icmp slt i64 %k, %room
  br i1 %fits, label %noted, label %counted
noted:
  %entry = getelementptr [3 x i64], ptr %log, i64 %k
  store i64 %who, ptr %entry
  %entry.1 = getelementptr i64, ptr %entry, i64 1
  store i64 %begun, ptr %entry.1
  %entry.2 = getelementptr i64, ptr %entry, i64 2
  store i64 %over, ptr %entry.2
  br label %counted
counted:
  %undone.at = getelementptr i8, ptr {pool}, i64 192
  %undone = atomicrmw sub ptr %undone.at, i32 1 seq_cst
  %last = icmp eq i32 %undone, 1
  br i1 %last, label %ended, label %done
ended:
  %waiting.at = getelementptr i8, ptr {pool}, i64 196
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %done
wake:
  %woken = call i64 (i64, ...) {syscall}(i64 {futex}, ptr %undone.at, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %done
done:
  ret i1 true
none:
  ret i1 false
}}

define void @spread(ptr %block, ptr %job) {{
  %function = load ptr, ptr %job
  %count.at = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.at
  %parts.at = getelementptr i64, ptr %job, i64 2
  %parts = load ptr, ptr %parts.at
  %threads.at = getelementptr i8, ptr {pool}, i64 264
  %threads = load atomic i64, ptr %threads.at monotonic, align 8
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %ask, label %alone
ask:
  %skip.at = getelementptr i64, ptr %job, i64 4
  %skip = load i64, ptr %skip.at
  %skips = icmp sgt i64 %skip, 0
  br i1 %skips, label %skipped, label %take
skipped:
  %skip.left = sub i64 %skip, 1
  store i64 %skip.left, ptr %skip.at
  br label %alone
take:
  %lock = getelementptr i8, ptr {pool}, i64 256
  %pair = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue {{i32, i1}} %pair, 1
  br i1 %taken, label %offer, label %alone
offer:
  %first = call i64 @adjoint.now()
  %f = getelementptr i8, ptr {pool}, i64 272
  store ptr %function, ptr %f
  %b = getelementptr i8, ptr {pool}, i64 280
  store ptr %block, ptr %b
  %p = getelementptr i8, ptr {pool}, i64 288
  store ptr %parts, ptr %p
  %c = getelementptr i8, ptr {pool}, i64 296
  store i64 %count, ptr %c
  %undone.at = getelementptr i8, ptr {pool}, i64 192
  %count.32 = trunc i64 %count to i32
  store atomic i32 %count.32, ptr %undone.at seq_cst, align 4
  %waiting.at = getelementptr i8, ptr {pool}, i64 196
  store atomic i32 0, ptr %waiting.at seq_cst, align 4
  %next = getelementptr i8, ptr {pool}, i64 128
  store atomic i64 %count, ptr %next seq_cst, align 8
  %e = atomicrmw add ptr {pool}, i32 1 seq_cst
  %sleepers.at = getelementptr i8, ptr {pool}, i64 64
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %some = icmp sgt i32 %sleepers, 0
  br i1 %some, label %wake, label %work
wake:
  %cpu = call i32 {getcpu}()
  %place = and i32 %cpu, 31
  %here = shl i32 1, %place
  %there = xor i32 %here, -1
  %others = sub i64 %threads, 1
  %few = trunc i64 %others to i32
  %woken = call i64 (i64, ...) {syscall}(i64 {futex}, ptr {pool}, i32 138, i32 %few, ptr null, ptr null, i32 %there)
  br label %work
work:
  %more = call i1 @adjoint.part(i64 0)
  br i1 %more, label %work, label %rest
rest:
  %then = call i64 @adjoint.now()
  br label %wait
wait:
  %n = phi i64 [ 0, %rest ], [ %n.next, %pause ]
  %undone = load atomic i32, ptr %undone.at acquire, align 4
  %over = icmp eq i32 %undone, 0
  br i1 %over, label %end, label %spin
spin:
  %n.next = add i64 %n, 1
  %tired = icmp sgt i64 %n, {patience}
  br i1 %tired, label %sleep, label %pause
pause:
  call void {pause}
  br label %wait
sleep:
  %w = atomicrmw xchg ptr %waiting.at, i32 1 seq_cst
  %still = load atomic i32, ptr %undone.at seq_cst, align 4
  %ready = icmp eq i32 %still, 0
  br i1 %ready, label %end, label %futex
futex:
  %r = call i64 (i64, ...) {syscall}(i64 {futex}, ptr %undone.at, i32 128, i32 %still, ptr null, ptr null, i32 0)
  br label %sleep
end:
  %last = call i64 @adjoint.now()
  %took = sub i64 %then, %first
  %waited = sub i64 %last, %then
  %half = lshr i64 %took, 1
  %fair = add i64 %half, {fair}
  %late = icmp sgt i64 %waited, %fair
  %backoff.at = getelementptr i64, ptr %job, i64 3
  %backoff = load i64, ptr %backoff.at
  %doubled = shl i64 %backoff, 1
  %longer = or i64 %doubled, 1
  %most = icmp ugt i64 %longer, {longest}
  %capped = select i1 %most, i64 {longest}, i64 %longer
  %shorter = lshr i64 %backoff, 1
  %next.backoff = select i1 %late, i64 %capped, i64 %shorter
  %next.skip = select i1 %late, i64 %capped, i64 0
  store i64 %next.backoff, ptr %backoff.at
  store i64 %next.skip, ptr %skip.at
  store atomic i32 0, ptr %lock release, align 4
  ret void
alone:
  %i = phi i64 [ 0, %0 ], [ 0, %take ], [ 0, %skipped ], [ %i.next, %alone ]
  %numbers.at = getelementptr ptr, ptr %parts, i64 %i
  %numbers = load ptr, ptr %numbers.at
  call void %function(ptr %block, ptr %numbers)
  %i.next = add i64 %i, 1
  %go = icmp slt i64 %i.next, %count
  br i1 %go, label %alone, label %out
out:
  ret void
}}

define ptr @worker(ptr %bit.word) {{
  %bit.64 = ptrtoint ptr %bit.word to i64
  %bit = trunc i64 %bit.64 to i32
  %who = lshr i64 %bit.64, 32
  %sleepers = getelementptr i8, ptr {pool}, i64 64
  %next = getelementptr i8, ptr {pool}, i64 128
  br label %look
look:
  %n = phi i64 [ 0, %0 ], [ 0, %look.again ], [ %n.next, %pause ]
  %worked = call i1 @adjoint.part(i64 %who)
  br i1 %worked, label %look.again, label %idle
look.again:
  br label %look
idle:
  %n.next = add i64 %n, 1
  %tired = icmp sgt i64 %n, {patience}
  br i1 %tired, label %announce, label %pause
pause:
  call void {pause}
  br label %look
announce:
  %epoch = load atomic i32, ptr {pool} seq_cst, align 4
  %a = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %left = load atomic i64, ptr %next seq_cst, align 8
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %up, label %sleep
sleep:
  %r = call i64 (i64, ...) {syscall}(i64 {futex}, ptr {pool}, i32 137, i32 %epoch, ptr null, ptr null, i32 %bit)
  br label %up
up:
  %s = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look.again
}}
"""
