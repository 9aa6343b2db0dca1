// adc opt --passes=contract-arrays{steps=true},contract
// A tape of steps that one loop alone uses is a row of an iteration. One that two loops use stays, and so does one without steps.

func.func @f(%z: memref<?x?xf64>, %z_bar: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %tape = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  %other = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  %flat = memref.alloc(%n, %m) : memref<?x?xf64>
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %last = scf.for %t = %c0 to %m step %c1 iter_args(%s = %one) -> (f64) {
      memref.store %s, %tape[%p, %t] : memref<?x?xf64>
      memref.store %s, %other[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%p, %t] : memref<?x?xf64>
      %y = arith.mulf %s, %x : f64
      scf.yield %y : f64
    }
    %first = scf.for %t = %c0 to %m step %c1 iter_args(%bar = %last) -> (f64) {
      %s = memref.load %tape[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%p, %t] : memref<?x?xf64>
      %by = arith.mulf %bar, %s : f64
      memref.store %by, %z_bar[%p, %t] : memref<?x?xf64>
      %y = arith.mulf %bar, %x : f64
      scf.yield %y : f64
    }
    scf.reduce()
  } {threads = true}
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %x = memref.load %other[%p, %c0] : memref<?x?xf64>
    memref.store %x, %z[%p, %c0] : memref<?x?xf64>
    scf.reduce()
  }
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    scf.parallel (%t) = (%c0) to (%m) step (%c1) {
      %x = memref.load %z[%p, %t] : memref<?x?xf64>
      memref.store %x, %flat[%p, %t] : memref<?x?xf64>
      scf.reduce()
    }
    scf.parallel (%t) = (%c0) to (%m) step (%c1) {
      %x = memref.load %flat[%p, %t] : memref<?x?xf64>
      %y = arith.addf %x, %x : f64
      memref.store %y, %z[%p, %t] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  memref.dealloc %tape : memref<?x?xf64>
  memref.dealloc %other : memref<?x?xf64>
  func.return
}

// becomes
func.func @f(%z: memref<?x?xf64>, %z_bar: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %other = memref.alloc(%n, %m) {adc.tape = true} : memref<?x?xf64>
  %flat = memref.alloc(%n, %m) : memref<?x?xf64>
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    %tape = memref.alloc(%m) {adc.own = true, adc.tape = true} : memref<?xf64>
    %last = scf.for %t = %c0 to %m step %c1 iter_args(%s = %one) -> (f64) {
      memref.store %s, %tape[%t] : memref<?xf64>
      memref.store %s, %other[%p, %t] : memref<?x?xf64>
      %x = memref.load %z[%p, %t] : memref<?x?xf64>
      %y = arith.mulf %s, %x : f64
      scf.yield %y : f64
    }
    %first = scf.for %t_0 = %c0 to %m step %c1 iter_args(%bar = %last) -> (f64) {
      %s_0 = memref.load %tape[%t_0] : memref<?xf64>
      %x_0 = memref.load %z[%p, %t_0] : memref<?x?xf64>
      %by = arith.mulf %bar, %s_0 : f64
      memref.store %by, %z_bar[%p, %t_0] : memref<?x?xf64>
      %y_0 = arith.mulf %bar, %x_0 : f64
      scf.yield %y_0 : f64
    }
    scf.reduce()
  } {threads = true}
  scf.parallel (%p_0) = (%c0) to (%n) step (%c1) {
    %x_1 = memref.load %other[%p_0, %c0] : memref<?x?xf64>
    memref.store %x_1, %z[%p_0, %c0] : memref<?x?xf64>
    scf.reduce()
  }
  scf.parallel (%p_1) = (%c0) to (%n) step (%c1) {
    scf.parallel (%t_1) = (%c0) to (%m) step (%c1) {
      %x_2 = memref.load %z[%p_1, %t_1] : memref<?x?xf64>
      memref.store %x_2, %flat[%p_1, %t_1] : memref<?x?xf64>
      scf.reduce()
    }
    scf.parallel (%t_2) = (%c0) to (%m) step (%c1) {
      %x_3 = memref.load %flat[%p_1, %t_2] : memref<?x?xf64>
      %y_1 = arith.addf %x_3, %x_3 : f64
      memref.store %y_1, %z[%p_1, %t_2] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  memref.dealloc %other : memref<?x?xf64>
  func.return
}
