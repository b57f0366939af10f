"""The C part of a program's built-in function, as LLVM text: checks, results, steps. `array_entry` describes it."""

# %(kind.rank)s is the offset of a field, of the layouts in `array_entry` and `cpython`; %(words)s, the lines that read
# the program's own.
ENTER = """
define ptr @enter(ptr %%self, ptr %%args, i64 %%given) {
%(words)s
  %%fits = icmp eq i64 %%count, %%given
  %%free = icmp eq i64 %%busy, 0
  %%ok = and i1 %%fits, %%free
  br i1 %%ok, label %%check, label %%python

check:
  %%i = phi i64 [ 0, %%0 ], [ %%i.next, %%filled ]
  %%all = icmp eq i64 %%i, %%count
  br i1 %%all, label %%allocate, label %%one

one:
  %%arg.at = getelementptr ptr, ptr %%args, i64 %%i
  %%arg = load ptr, ptr %%arg.at
  %%kind = getelementptr [%(kind.size)s x i8], ptr %%kinds, i64 %%i
  %%type.at = getelementptr i8, ptr %%arg, i64 %(object.type)s
  %%type = load i64, ptr %%type.at
  %%is.array = icmp eq i64 %%type, ptrtoint (ptr @adjoint.array to i64)
  br i1 %%is.array, label %%array, label %%number

number:
  %%plain.at = getelementptr i8, ptr %%kind, i64 %(kind.plain)s
  %%plain = load i64, ptr %%plain.at
  %%is.plain = icmp eq i64 %%type, %%plain
  %%is.float = icmp eq i64 %%type, ptrtoint (ptr @adjoint.float to i64)
  %%is.double = icmp eq i64 %%plain, ptrtoint (ptr @adjoint.double to i64)
  %%float.fits = and i1 %%is.float, %%is.double
  %%number.fits = or i1 %%is.plain, %%float.fits
  br i1 %%number.fits, label %%number.data, label %%python

number.data:
  %%value = getelementptr i8, ptr %%arg, i64 %(object.value)s
  br label %%filled

array:
  %%descr.at = getelementptr i8, ptr %%arg, i64 %(array.descr)s
  %%descr = load i64, ptr %%descr.at
  %%wanted.at = getelementptr i8, ptr %%kind, i64 %(kind.dtype)s
  %%wanted = load i64, ptr %%wanted.at
  %%same.descr = icmp eq i64 %%descr, %%wanted
  %%flags.at = getelementptr i8, ptr %%arg, i64 %(array.flags)s
  %%flags = load i32, ptr %%flags.at
  %%must.at = getelementptr i8, ptr %%kind, i64 %(kind.flags)s
  %%must = load i32, ptr %%must.at
  %%good = and i32 %%flags, %%must
  %%is.good = icmp eq i32 %%good, %%must
  %%ndim.at = getelementptr i8, ptr %%arg, i64 %(array.ndim)s
  %%ndim = load i32, ptr %%ndim.at
  %%rank.at = getelementptr i8, ptr %%kind, i64 %(kind.rank)s
  %%rank = load i64, ptr %%rank.at
  %%ndim.64 = zext i32 %%ndim to i64
  %%same.rank = icmp eq i64 %%ndim.64, %%rank
  %%and1 = and i1 %%same.descr, %%is.good
  %%and2 = and i1 %%and1, %%same.rank
  br i1 %%and2, label %%lengths, label %%python

lengths:
  %%dims.at = getelementptr i8, ptr %%arg, i64 %(array.dims)s
  %%dims = load ptr, ptr %%dims.at
  %%shape.at = getelementptr i8, ptr %%kind, i64 %(kind.dims)s
  %%shape = load ptr, ptr %%shape.at
  br label %%length

length:
  %%d = phi i64 [ 0, %%lengths ], [ %%d.next, %%length.one ]
  %%d.all = icmp eq i64 %%d, %%rank
  br i1 %%d.all, label %%lies, label %%length.one

length.one:
  %%have.at = getelementptr i64, ptr %%dims, i64 %%d
  %%have = load i64, ptr %%have.at
  %%want.at = getelementptr i64, ptr %%shape, i64 %%d
  %%want = load i64, ptr %%want.at
  %%d.next = add i64 %%d, 1
  %%same.length = icmp eq i64 %%have, %%want
  br i1 %%same.length, label %%length, label %%python

lies:
  %%strides.at = getelementptr i8, ptr %%kind, i64 %(kind.strides)s
  %%strides = load ptr, ptr %%strides.at
  %%in.order = icmp eq ptr %%strides, null
  br i1 %%in.order, label %%array.data, label %%lies.otherwise

lies.otherwise:
  %%steps.of.at = getelementptr i8, ptr %%arg, i64 %(array.strides)s
  %%steps.of = load ptr, ptr %%steps.of.at
  br label %%stride

stride:
  %%e = phi i64 [ 0, %%lies.otherwise ], [ %%e.next, %%stride.one ]
  %%e.all = icmp eq i64 %%e, %%rank
  br i1 %%e.all, label %%array.data, label %%stride.one

stride.one:
  %%stride.at = getelementptr i64, ptr %%steps.of, i64 %%e
  %%stride.now = load i64, ptr %%stride.at
  %%stride.wanted.at = getelementptr i64, ptr %%strides, i64 %%e
  %%stride.wanted = load i64, ptr %%stride.wanted.at
  %%e.next = add i64 %%e, 1
  %%same.stride = icmp eq i64 %%stride.now, %%stride.wanted
  br i1 %%same.stride, label %%stride, label %%python

array.data:
  %%array.data.at = getelementptr i8, ptr %%arg, i64 %(array.data)s
  %%array.value = load ptr, ptr %%array.data.at
  %%low = ptrtoint ptr %%array.value to i64
  %%trusted.at = getelementptr i8, ptr %%kind, i64 %(kind.trusted)s
  %%trusted = load i64, ptr %%trusted.at
  %%is.target = icmp ne i64 %%trusted, 0
  br i1 %%is.target, label %%target, label %%reader

target:
  %%same.place = icmp eq i64 %%low, %%trusted
  br i1 %%same.place, label %%array.good, label %%python

reader:
  %%bytes.at = getelementptr i8, ptr %%kind, i64 %(kind.bytes)s
  %%bytes = load i64, ptr %%bytes.at
  %%high = add i64 %%low, %%bytes
  br label %%span

span:
  %%t = phi i64 [ 0, %%reader ], [ %%t.next, %%span.one ]
  %%t.all = icmp eq i64 %%t, %%targets
  br i1 %%t.all, label %%array.good, label %%span.one

span.one:
  %%span.at = getelementptr [%(span.size)s x i8], ptr %%spans, i64 %%t
  %%span.low.at = getelementptr i8, ptr %%span.at, i64 %(span.low)s
  %%span.low = load i64, ptr %%span.low.at
  %%span.end.at = getelementptr i8, ptr %%span.at, i64 %(span.high)s
  %%span.end = load i64, ptr %%span.end.at
  %%before = icmp ule i64 %%high, %%span.low
  %%after = icmp uge i64 %%low, %%span.end
  %%apart = or i1 %%before, %%after
  %%t.next = add i64 %%t, 1
  br i1 %%apart, label %%span, label %%python

array.good:
  br label %%filled

filled:
  %%from = phi ptr [ %%value, %%number.data ], [ %%array.value, %%array.good ]
  %%slot = getelementptr ptr, ptr %%block, i64 %%i
  store ptr %%from, ptr %%slot
  %%i.next = add i64 %%i, 1
  br label %%check

allocate:
  store i64 1, ptr %%busy.at
  store i64 0, ptr %%flag
  %%list = call ptr @adjoint.PyList_New(i64 %%outs)
  %%no.list = icmp eq ptr %%list, null
  br i1 %%no.list, label %%failed, label %%results.head

results.head:
  %%o = phi i64 [ 0, %%allocate ], [ %%o.next, %%result.made ]
  %%o.all = icmp eq i64 %%o, %%outs
  br i1 %%o.all, label %%run, label %%result

result:
  %%out = getelementptr [%(result.size)s x i8], ptr %%results, i64 %%o
  %%out.descr.at = getelementptr i8, ptr %%out, i64 %(result.dtype)s
  %%out.descr = load ptr, ptr %%out.descr.at
  %%out.rank.at = getelementptr i8, ptr %%out, i64 %(result.rank)s
  %%out.rank = load i32, ptr %%out.rank.at
  %%out.dims.at = getelementptr i8, ptr %%out, i64 %(result.dims)s
  %%out.dims = load ptr, ptr %%out.dims.at
  call void @adjoint.Py_IncRef(ptr %%out.descr)
  %%new = call ptr @adjoint.PyArray_Empty(i32 %%out.rank, ptr %%out.dims, ptr %%out.descr, i32 0)
  %%no.new = icmp eq ptr %%new, null
  br i1 %%no.new, label %%drop, label %%result.made

result.made:
  %%set = call i32 @adjoint.PyList_SetItem(ptr %%list, i64 %%o, ptr %%new)
  %%new.data.at = getelementptr i8, ptr %%new, i64 %(array.data)s
  %%new.data = load ptr, ptr %%new.data.at
  %%out.number = add i64 %%count, %%o
  %%out.slot = getelementptr ptr, ptr %%block, i64 %%out.number
  store ptr %%new.data, ptr %%out.slot
  %%o.next = add i64 %%o, 1
  br label %%results.head

run:
  %%lets.go = icmp ne i64 %%releases, 0
  br i1 %%lets.go, label %%save, label %%steps.head

save:
  %%thread = call ptr @adjoint.PyEval_SaveThread()
  br label %%steps.head

steps.head:
  %%state = phi ptr [ null, %%run ], [ %%thread, %%save ]
  br label %%step

step:
  %%s = phi i64 [ 0, %%steps.head ], [ %%s.next, %%step.done ]
  %%thread.now = phi ptr [ %%state, %%steps.head ], [ %%thread.next, %%step.done ]
  %%s.all = icmp eq i64 %%s, %%steps
  br i1 %%s.all, label %%ran, label %%step.one

step.one:
  %%step.at = getelementptr [%(step.size)s x i8], ptr %%table, i64 %%s
  %%kernel.at = getelementptr i8, ptr %%step.at, i64 %(step.kernel)s
  %%kernel = load ptr, ptr %%kernel.at
  %%is.pause = icmp eq ptr %%kernel, null
  br i1 %%is.pause, label %%pause, label %%step.run

step.run:
  %%places.at = getelementptr i8, ptr %%step.at, i64 %(step.numbers)s
  %%places = load ptr, ptr %%places.at
  call void %%kernel(ptr %%block, ptr %%places)
  %%failed.check = load i64, ptr %%flag
  %%deviates = icmp ne i64 %%failed.check, 0
  br i1 %%deviates, label %%deviated, label %%step.done

pause:
  br i1 %%lets.go, label %%pause.restore, label %%pause.ask

pause.restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%pause.ask

pause.ask:
  %%signals = call i32 @adjoint.PyErr_CheckSignals()
  %%stop = icmp ne i32 %%signals, 0
  br i1 %%stop, label %%stopped, label %%pause.go

pause.go:
  %%word.at.at = getelementptr i8, ptr %%step.at, i64 %(step.numbers)s
  %%word.at = load ptr, ptr %%word.at.at
  %%no.word = icmp eq ptr %%word.at, null
  br i1 %%no.word, label %%pause.on, label %%pause.word

pause.word:
  %%word = load i64, ptr %%word.at
  %%unfinished = icmp ne i64 %%word, 0
  br label %%pause.on

pause.on:
  %%again = phi i1 [ false, %%pause.go ], [ %%unfinished, %%pause.word ]
  br i1 %%lets.go, label %%pause.save, label %%step.done

pause.save:
  %%thread.new = call ptr @adjoint.PyEval_SaveThread()
  br label %%step.done

step.done:
  %%thread.next = phi ptr [ %%thread.now, %%step.run ], [ %%thread.now, %%pause.on ], [ %%thread.new, %%pause.save ]
  %%back = phi i1 [ false, %%step.run ], [ %%again, %%pause.on ], [ %%again, %%pause.save ]
  %%by = select i1 %%back, i64 -1, i64 1
  %%s.next = add i64 %%s, %%by
  br label %%step

stopped:
  br label %%drop

deviated:
  br i1 %%lets.go, label %%deviated.restore, label %%deviated.done

deviated.restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%deviated.done

deviated.done:
  store i64 0, ptr %%busy.at
  call void @adjoint.Py_DecRef(ptr %%list)
  call void @adjoint.Py_IncRef(ptr @adjoint.none)
  ret ptr @adjoint.none

ran:
  br i1 %%lets.go, label %%restore, label %%done

restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%done

done:
  store i64 0, ptr %%busy.at
  ret ptr %%list

drop:
  call void @adjoint.Py_DecRef(ptr %%list)
  br label %%failed

failed:
  store i64 0, ptr %%busy.at
  ret ptr null

python:
  %%answer = call ptr @adjoint.PyObject_Vectorcall(ptr %%slow, ptr %%args, i64 %%given, ptr null)
  %%no.answer = icmp eq ptr %%answer, null
  br i1 %%no.answer, label %%refused, label %%instead

refused:
  ret ptr null

instead:
  %%function.at = getelementptr i8, ptr %%answer, i64 %(items.first)s
  %%function = load ptr, ptr %%function.at
  %%fitted.at = getelementptr i8, ptr %%answer, i64 %(items.second)s
  %%fitted = load ptr, ptr %%fitted.at
  %%found = call ptr @adjoint.PyObject_CallObject(ptr %%function, ptr %%fitted)
  call void @adjoint.Py_DecRef(ptr %%answer)
  ret ptr %%found
}

define ptr @held(ptr %%self, ptr %%args, i64 %%given) {
  %%list = load ptr, ptr %%args
  %%others = getelementptr ptr, ptr %%args, i64 1
  %%count = sub i64 %%given, 1
  %%results = call ptr @enter(ptr %%self, ptr %%others, i64 %%count)
  %%failed = icmp eq ptr %%results, null
  %%deviates = icmp eq ptr %%results, @adjoint.none
  %%nothing = or i1 %%failed, %%deviates
  br i1 %%nothing, label %%give, label %%hold

hold:
  %%kept = call i32 @adjoint.PyList_Append(ptr %%list, ptr %%results)
  br label %%give

give:
  ret ptr %%results
}
"""
