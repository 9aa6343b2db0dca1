// adc opt --passes=distribute-counters,tidy,parallelise
// Where each row begins follows from where the one before ends: it is found in front of the time loop, and the rows are parallel.

func.func @f(%v: memref<?xf64> {adc.readonly = true}, %last: memref<?xindex> {adc.readonly = true}, %y: memref<?xf64>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %t = %c0 to %steps step %c1 {
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%e = %c0) -> (index) {
      %to = memref.load %last[%i] : memref<?xindex>
      %next = arith.maxsi %to, %e : index
      %s = scf.for %k = %e to %to step %c1 iter_args(%so_far = %zero) -> (f64) {
        %a = memref.load %v[%k] : memref<?xf64>
        %more = arith.addf %so_far, %a : f64
        scf.yield %more : f64
      }
      memref.store %s, %y[%i] : memref<?xf64>
      scf.yield %next : index
    }
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%v: memref<?xf64> {adc.readonly = true}, %last: memref<?xindex> {adc.readonly = true}, %y: memref<?xf64>, %n: index, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %0 = arith.cmpi sgt, %steps, %c0 : index
  %1 = arith.select %0, %n, %c0 : index
  %2 = arith.maxsi %1, %c0 : index
  %3 = memref.alloc(%2) : memref<?xindex>
  %4 = scf.for %i = %c0 to %1 step %c1 iter_args(%arg0 = %c0) -> (index) {
    memref.store %arg0, %3[%i] : memref<?xindex>
    %to = memref.load %last[%i] : memref<?xindex>
    %next = arith.maxsi %to, %arg0 : index
    scf.yield %next : index
  }
  scf.for %t = %c0 to %steps step %c1 {
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      %5 = memref.load %3[%i_0] : memref<?xindex>
      %to_0 = memref.load %last[%i_0] : memref<?xindex>
      %s = scf.for %k = %5 to %to_0 step %c1 iter_args(%so_far = %zero) -> (f64) {
        %a = memref.load %v[%k] : memref<?xf64>
        %more = arith.addf %so_far, %a : f64
        scf.yield %more : f64
      }
      memref.store %s, %y[%i_0] : memref<?xf64>
      scf.reduce()
    } {threads = true}
    scf.yield
  }
  func.return
}
