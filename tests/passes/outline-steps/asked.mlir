// adc opt --passes=outline-steps
// A loop for which a schedule is asked (adc.steps) becomes a function of steps, which is differentiated by itself.

func.func @f(%u: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %u, 0 : memref<?xf64>
  scf.for %t = %c0 to %n step %c1 {
    scf.for %i = %c0 to %m step %c1 {
      %y = memref.load %u[%i] : memref<?xf64>
      %z = math.sin %y : f64
      memref.store %z, %u[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  } {adc.schedule = [3, 1, 0, 0, ""]}
  func.return
}

// becomes
func.func @f(%u: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %u, 0 : memref<?xf64>
  %c0_0 = arith.constant 0 : index
  %0 = arith.maxsi %n, %c0_0 : index
  %c0_1 = arith.constant 0 : index
  func.call @f.steps(%c0_1, %0, %0, %0, %m, %u) : (index, index, index, index, index, memref<?xf64>) -> ()
  func.return
}

func.func @f.run(%first: index, %last: index, %most: index, %all: index, %m: index, %u: memref<?xf64>) attributes {adc.noinline = true, adc.spans = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1_0 = arith.constant 1 : index
  scf.for %round = %first to %last step %c1_0 {
    scf.for %i = %c0 to %m step %c1 {
      %y = memref.load %u[%i] : memref<?xf64>
      %z = math.sin %y : f64
      memref.store %z, %u[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  func.return
}

func.func @f.steps(%first: index, %last: index, %most: index, %all: index, %m: index, %u: memref<?xf64>) attributes {adc.checkpoint = [3, 1, "", 0, "f.run", "", 0, ""], adc.noinline = true} {
  func.call @f.run(%first, %last, %most, %all, %m, %u) : (index, index, index, index, index, memref<?xf64>) -> ()
  func.return
}
