// adc opt --passes=fuse-calls
// The cotangent of each call is that of the result times a number that is known before the call. So one function
// computes the value and adds to the gradient, and the records, which held the values of the calls, are gone.

func.func @f.grad(%x: f64, %w: memref<?xf64> {adc.name = "w"}, %w_bar: memref<?xf64> {adc.name = "w_bar", adc.shadow = 1}) -> (f64, f64) attributes {adc.entry = true} {
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f64
  %y, %r = func.call @f.aug(%x, %c3, %w, %w_bar) : (f64, index, memref<?xf64>, memref<?xf64>) -> (f64, !adc.record)
  %x_bar = func.call @f.rev(%x, %c3, %w, %w_bar, %one, %r) : (f64, index, memref<?xf64>, memref<?xf64>, f64, !adc.record) -> f64
  adc.release %r : !adc.record
  func.return %y, %x_bar : f64, f64
}

func.func @f.aug(%x: f64 {adc.name = "x"}, %depth: index {adc.name = "depth"}, %w: memref<?xf64> {adc.name = "w"}, %w_bar: memref<?xf64> {adc.name = "w_bar", adc.shadow = 2}) -> (f64, !adc.record) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %leaf = arith.cmpi eq, %depth, %c0 : index
  %a = memref.load %w[%c0] : memref<?xf64>
  %value, %calls, %values = scf.if %leaf -> (f64, memref<?x!adc.record>, memref<?xf64>) {
    %b = arith.mulf %x, %a : f64
    %none = adc.undef : memref<?x!adc.record>
    %nothing = adc.undef : memref<?xf64>
    scf.yield %b, %none, %nothing : f64, memref<?x!adc.record>, memref<?xf64>
  } else {
    %less = arith.subi %depth, %c1 : index
    %records = memref.alloc(%c2) {adc.tape = true} : memref<?x!adc.record>
    %results = memref.alloc(%c2) {adc.tape = true} : memref<?xf64>
    %total = scf.for %i = %c0 to %c2 step %c1 iter_args(%sum = %zero) -> (f64) {
      %y, %r = func.call @f.aug(%x, %less, %w, %w_bar) : (f64, index, memref<?xf64>, memref<?xf64>) -> (f64, !adc.record)
      memref.store %r, %records[%i] : memref<?x!adc.record>
      memref.store %y, %results[%i] : memref<?xf64>
      %term = arith.mulf %a, %y : f64
      %next = arith.addf %sum, %term : f64
      scf.yield %next : f64
    }
    scf.yield %total, %records, %results : f64, memref<?x!adc.record>, memref<?xf64>
  }
  %record = adc.pack %calls, %values : memref<?x!adc.record>, memref<?xf64>
  func.return %value, %record : f64, !adc.record
}

func.func @f.rev(%x: f64, %depth: index, %w: memref<?xf64>, %w_bar: memref<?xf64>, %result_bar: f64, %record: !adc.record) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %calls, %values = adc.unpack %record {contents = [[], []], roots = [[], []]} : memref<?x!adc.record>, memref<?xf64>
  %leaf = arith.cmpi eq, %depth, %c0 : index
  %a = memref.load %w[%c0] : memref<?xf64>
  %x_bar = scf.if %leaf -> (f64) {
    %b = arith.mulf %result_bar, %a : f64
    %c = arith.mulf %result_bar, %x : f64
    adc.accumulate %c, %w_bar[%c0] : memref<?xf64>
    scf.yield %b : f64
  } else {
    %less = arith.subi %depth, %c1 : index
    %total = scf.for %k = %c0 to %c2 step %c1 iter_args(%sum = %zero) -> (f64) {
      %i = arith.subi %c1, %k : index
      %y = memref.load %values[%i] : memref<?xf64>
      %r = memref.load %calls[%i] : memref<?x!adc.record>
      %y_bar = arith.mulf %result_bar, %a : f64
      %a_bar = arith.mulf %result_bar, %y : f64
      %term = func.call @f.rev(%x, %less, %w, %w_bar, %y_bar, %r) : (f64, index, memref<?xf64>, memref<?xf64>, f64, !adc.record) -> f64
      adc.release %r : !adc.record
      adc.accumulate %a_bar, %w_bar[%c0] : memref<?xf64>
      %next = arith.addf %sum, %term : f64
      scf.yield %next : f64
    }
    memref.dealloc %calls : memref<?x!adc.record>
    memref.dealloc %values : memref<?xf64>
    scf.yield %total : f64
  }
  func.return %x_bar : f64
}

// becomes
func.func @f.grad(%x: f64, %w: memref<?xf64> {adc.name = "w"}, %w_bar: memref<?xf64> {adc.name = "w_bar", adc.shadow = 1}) -> (f64, f64) attributes {adc.entry = true} {
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f64
  %y, %x_bar = func.call @f.rev.both(%x, %c3, %w, %w_bar, %one) : (f64, index, memref<?xf64>, memref<?xf64>, f64) -> (f64, f64)
  func.return %y, %x_bar : f64, f64
}

func.func @f.rev.both(%x: f64 {adc.name = "x"}, %depth: index {adc.name = "depth"}, %w: memref<?xf64> {adc.name = "w"}, %w_bar: memref<?xf64> {adc.name = "w_bar", adc.shadow = 2}, %result_bar: f64) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %leaf = arith.cmpi eq, %depth, %c0 : index
  %a = memref.load %w[%c0] : memref<?xf64>
  %value, %calls, %values, %x_bar = scf.if %leaf -> (f64, memref<?x!adc.record>, memref<?xf64>, f64) {
    %b = arith.mulf %result_bar, %a : f64
    %c = arith.mulf %result_bar, %x : f64
    %b_0 = arith.mulf %x, %a : f64
    %none = adc.undef : memref<?x!adc.record>
    %nothing = adc.undef : memref<?xf64>
    adc.accumulate %c, %w_bar[%c0] : memref<?xf64>
    scf.yield %b_0, %none, %nothing, %b : f64, memref<?x!adc.record>, memref<?xf64>, f64
  } else {
    %less = arith.subi %depth, %c1 : index
    %records = memref.alloc(%c2) {adc.tape = true} : memref<?x!adc.record>
    %results = memref.alloc(%c2) {adc.tape = true} : memref<?xf64>
    %c-1 = arith.constant -1 : index
    %0 = arith.addi %c2, %c-1 : index
    %total, %total_0 = scf.for %i = %c0 to %c2 step %c1 iter_args(%sum = %zero, %arg0 = %zero) -> (f64, f64) {
      %1 = arith.subi %i, %c0 : index
      %2 = arith.subi %0, %1 : index
      %y_bar = arith.mulf %result_bar, %a : f64
      %3, %4 = func.call @f.rev.both(%x, %less, %w, %w_bar, %y_bar) : (f64, index, memref<?xf64>, memref<?xf64>, f64) -> (f64, f64)
      %next = arith.addf %arg0, %4 : f64
      memref.store %3, %results[%i] : memref<?xf64>
      %a_bar = arith.mulf %result_bar, %3 : f64
      %term = arith.mulf %a, %3 : f64
      %next_0 = arith.addf %sum, %term : f64
      adc.accumulate %a_bar, %w_bar[%c0] : memref<?xf64>
      scf.yield %next_0, %next : f64, f64
    }
    scf.yield %total, %records, %results, %total_0 : f64, memref<?x!adc.record>, memref<?xf64>, f64
  }
  func.return %value, %x_bar : f64, f64
}
